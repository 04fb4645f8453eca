import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for the next minute if this one is nearly over: without Redis, each minute of the clock has a share of its own. */
export async function earlyInMinute(neededMs = 10_000): Promise<void> {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < neededMs) await sleep(leftMs + 100);
}
