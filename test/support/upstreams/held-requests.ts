import { expect } from 'vitest';
import { send } from '../http/http.ts';
import type { GatewayKit } from '../kits/gateway-kit.ts';
import { respondWithPets } from './upstream.ts';

/** Requests that the upstream has and keeps, on connections of their own: some at each worker. */
export async function holdRequests(
  kit: GatewayKit,
  count: number,
  url = kit.gateway.url,
): Promise<{ responses: Promise<unknown[]>; finish(): void }> {
  const { key } = await kit.issue({ plan: 'business' });
  const held: (() => void)[] = [];
  kit.upstream.response = (req, res) => {
    held.push(() => respondWithPets(req, res));
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
  await expect.poll(() => held.length).toBe(count);
  return {
    responses,
    finish() {
      for (const finish of held) finish();
    },
  };
}
