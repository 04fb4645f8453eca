/** An operation that can't be done as requested. The message says why, in terms of the input. */
export class InvalidOperation extends Error {
  override name = 'InvalidOperation';
}

/** An operator has to correct it, such as a value in Redis: no word of it is for customers. */
export class IssueForOperators extends InvalidOperation {}

/** Awaits a result. @returns undefined if the operation is invalid */
export async function ignoreInvalid<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof InvalidOperation) return undefined;
    throw error;
  }
}

/** An operation that can't be executed here and now, although its input is valid. The message says why. */
export class OperationFailure extends Error {
  override name = 'OperationFailure';
}

/** Of a key that was replaced or has ended, perhaps by somebody else in the meantime. */
export class StaleKey extends InvalidOperation {}

/** There is nothing with an id, or it is another owner's. */
export class UnknownId extends InvalidOperation {}

/** There is no API key with an id. */
export class UnknownKey extends UnknownId {
  constructor(id: string) {
    super(`there is no API key with the id ${JSON.stringify(id)}`);
  }
}
