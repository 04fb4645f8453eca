import { setTimeout as sleep } from 'node:timers/promises';
import { startRelay } from './relay.ts';

/** Relays connections to a local server and delays its responses. */
export async function startSlowRelay(targetPort: number) {
  const relay = await startRelay(
    () => targetPort,
    (client, target) => {
      client.pipe(target);
      // Also if the delay gets shorter, the bytes of one response stay in order.
      let written: Promise<unknown> = Promise.resolve();
      target.on('data', (chunk) => {
        const due = sleep(slow.delayMs);
        written = written.then(() => due).then(() => client.write(chunk));
      });
    },
  );
  /** Delay of responses; may be changed between responses. */
  const slow = { ...relay, delayMs: 0 };
  return slow;
}
