import { setTimeout as sleep } from 'node:timers/promises';

/** A rendering takes 2.5 ms of the event loop, which with one worker is that of the customers. */
const minIntervalMs = 100;

/**
 * Renders at most ten times a second, however many ask. Each call gets a rendering that begins after it; calls that wait for
 * the next one share it.
 */
export function shareRenderings(render: () => Promise<string>): () => Promise<string> {
  let next: Promise<string> | undefined;
  let notBeforeMs = 0;

  async function renderNext(): Promise<string> {
    const waitMs = notBeforeMs - performance.now();
    await (waitMs > 0 ? sleep(waitMs) : undefined);
    notBeforeMs = performance.now() + minIntervalMs;
    next = undefined;
    return render();
  }

  return function renderShared() {
    next ??= renderNext();
    return next;
  };
}
