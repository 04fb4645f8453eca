/** Aborted by the first SIGINT or SIGTERM; the next one ends the process at once. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(name));
  return controller.signal;
}
