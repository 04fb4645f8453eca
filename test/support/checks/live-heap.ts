import { once } from 'node:events';
import { z } from 'zod';
import type { Service } from '../kits/service.ts';

/** Environment of a service whose heap is to be inspected. */
export const inspectorEnvironment = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

const replySchema = z.object({ id: z.number(), result: z.object({ usedSize: z.number().optional() }) });

/** Used bytes of the JavaScript heap after a full garbage collection. */
export async function liveHeapBytes(service: Service): Promise<number> {
  const url = /ws:\/\/\S+/.exec(service.output())?.[0];
  if (url === undefined)
    throw new Error('the service has no inspector; start it with the environment `inspectable`');
  const socket = new WebSocket(url);
  await once(socket, 'open');
  let id = 0;
  const callInspector = async (method: string) => {
    const requestId = (id += 1);
    socket.send(JSON.stringify({ id: requestId, method }));
    const [{ data }] = (await once(socket, 'message')) as [{ data: unknown }];
    const reply = replySchema.parse(JSON.parse(String(data)));
    if (reply.id !== requestId) throw new Error(`unexpected reply to ${method}`);
    return reply.result.usedSize ?? 0;
  };
  // Objects that one collection finalizes are freed by the next one.
  for (let round = 0; round < 3; round += 1) await callInspector('HeapProfiler.collectGarbage');
  const bytes = await callInspector('Runtime.getHeapUsage');
  const closed = once(socket, 'close');
  socket.close();
  await closed;
  return bytes;
}
