/** What was asked of a store can't be done; the message says why, in terms of what was given. */
export class StoreRefusal extends Error {
  override name = 'StoreRefusal';
}
