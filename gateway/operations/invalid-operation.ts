/** What was asked of a store can't be done; the message says why, in terms of what was given. */
export class StoreRefusal extends Error {
  override name = 'StoreRefusal';
}

/** What comes of it, or undefined where it is refused. */
export async function unlessRefused<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof StoreRefusal) return undefined;
    throw error;
  }
}
