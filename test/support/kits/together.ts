/**
 * Starts what belongs together. What `start` puts on the stack ends when the result is disposed, the last one first, or
 * at once if something does not start.
 */
export async function together<T extends object>(
  start: (stack: AsyncDisposableStack) => Promise<T>,
): Promise<T & AsyncDisposable> {
  await using stack = new AsyncDisposableStack();
  const started = await start(stack);
  const disposables = stack.move();
  return { ...started, [Symbol.asyncDispose]: () => disposables.disposeAsync() };
}
