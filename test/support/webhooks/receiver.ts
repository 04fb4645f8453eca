import { fork } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { end } from '../programs.ts';

/** A request that a receiver has got. */
export interface Received {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Starts a receiver as a process. */
export async function startReceiver() {
  const child = fork(fileURLToPath(new URL('receiver-process.ts', import.meta.url)), { stdio: 'inherit' });
  const received: Received[] = [];
  const port = await new Promise<number>((resolve) => {
    child.on('message', (message: { port: number } | Received) => {
      if ('port' in message) resolve(message.port);
      else received.push(message);
    });
  });
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    /** Those to a path, in the order of their arrival. */
    at: (path: string) => received.filter(({ url }) => url === path),
    [Symbol.asyncDispose]: () => end(child, 'SIGKILL'),
  };
}

export const idOf = ({ headers }: Received) => headers['webhook-id'] ?? '';
export const contentOf = ({ body }: Received) =>
  JSON.parse(body) as { type: string; timestamp: string; data: Record<string, unknown> };

/** Whether a secret has signed a request, as Standard Webhooks says it: an implementation of the test's own. */
export function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const content = [headers['webhook-id'], headers['webhook-timestamp'], body].join('.');
  const expected = createHmac('sha256', key).update(content).digest('base64');
  return (headers['webhook-signature'] ?? '').split(' ').includes(`v1,${expected}`);
}
