/** An operation that can't be done as requested. The message says why, in terms of the input. */
export class InvalidOperation extends Error {
  override name = 'InvalidOperation';
}

/** Awaits a result. @returns undefined if the operation is invalid */
export async function ignoreInvalid<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof InvalidOperation) return undefined;
    throw error;
  }
}
