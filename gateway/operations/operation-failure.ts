/** An operation that can't be executed here and now, although its input is valid. The message says why. */
export class OperationFailure extends Error {
  override name = 'OperationFailure';
}
