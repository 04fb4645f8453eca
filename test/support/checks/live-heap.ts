import { once } from 'node:events';
import { z } from 'zod';
import type { Service } from '../kits/service.ts';

/** What a service is started with, so that its heap can be looked into. */
export const inspectable = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

const replySchema = z.object({
  id: z.number(),
  result: z.object({ usedSize: z.number().optional() }),
});

/** Bytes of the JavaScript heap that are in use right after a collection of all garbage. */
export async function liveHeapBytes(service: Service): Promise<number> {
  const url = /ws:\/\/\S+/.exec(service.output())?.[0];
  if (url === undefined) throw new Error('the service was not started with NODE_OPTIONS of inspectable');
  const socket = new WebSocket(url);
  await once(socket, 'open');
  let id = 0;
  const call = async (method: string) => {
    const expected = (id += 1);
    socket.send(JSON.stringify({ id: expected, method }));
    const [{ data }] = (await once(socket, 'message')) as [{ data: unknown }];
    const reply = replySchema.parse(JSON.parse(String(data)));
    if (reply.id !== expected) throw new Error(`not the reply to ${method}`);
    return reply.result.usedSize ?? 0;
  };
  // What the first collection finalizes, the second one frees.
  for (let round = 0; round < 3; round += 1) await call('HeapProfiler.collectGarbage');
  const bytes = await call('Runtime.getHeapUsage');
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  return bytes;
}
