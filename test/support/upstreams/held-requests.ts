import { expect } from 'vitest';
import { send } from '../http/http.ts';
import type { GatewayKit } from '../kits/gateway-kit.ts';
import { respondWithPets } from './upstream.ts';

/** Sends requests to which the upstream does not respond yet. Their own connections spread them over all workers. */
export async function startPendingRequests(
  kit: GatewayKit,
  count: number,
  url = kit.gateway.url,
): Promise<{ responses: Promise<unknown[]>; finish(): void }> {
  const { key } = await kit.issue({ plan: 'business' });
  const pending: (() => void)[] = [];
  kit.upstream.response = (req, res) => {
    pending.push(() => respondWithPets(req, res));
  };
  const headers = { connection: 'close' };
  const responses = Promise.all(
    Array.from({ length: count }, () =>
      send(`${url}/v1/pets`, { key, headers }).then(
        ({ status }) => status,
        () => 'failed',
      ),
    ),
  );
  await expect.poll(() => pending.length).toBe(count);
  return {
    responses,
    finish() {
      for (const respond of pending) respond();
    },
  };
}
