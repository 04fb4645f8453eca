/**
 * Loads packages that production installations omit.
 * @throws Error with the message if one of them is not installed
 */
export async function loadOptional<T>(load: () => Promise<T>, message: string): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    throw missing ? new Error(message, { cause: error }) : error;
  }
}
