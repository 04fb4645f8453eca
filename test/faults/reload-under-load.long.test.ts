import { expect, onTestFinished, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startReloadKit } from '../support/kits/reload-kit.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

const changes = 6;
const clients = 16;
/** Keeps the load near 500 requests a second on a machine that could do more. */
const pauseMs = 25;

test(
  'no request fails while workers are replaced, and instances and services added, moved and removed',
  { timeout: 600_000 },
  async () => {
    await using kit = await startReloadKit({ GATEWAY_WORKERS: '2' });
    const pets: Upstream[] = [await startUpstream(), await startUpstream()];
    const leaving: Promise<void>[] = [];
    let orders: Upstream | undefined;
    let connections = 100;
    onTestFinished(async () => {
      for (const upstream of [...pets, ...(orders === undefined ? [] : [orders])])
        await upstream[Symbol.asyncDispose]();
    });

    /** Ends an instance as a service does: when nobody is connected to it any more. */
    async function leave(upstream: Upstream): Promise<void> {
      await expect.poll(() => upstream.connections(), { timeout: 60_000 }).toBe(0);
      await upstream[Symbol.asyncDispose]();
    }

    const remove = () => void leaving.push(...pets.splice(0, 1).map(leave));
    const steps: (() => Promise<void> | void)[] = [
      async () => void pets.push(await startUpstream()),
      // Another address for the same instance.
      async () => {
        remove();
        pets.push(await startUpstream());
      },
      async () => void (orders = await startUpstream()),
      remove,
      () => {
        if (orders !== undefined) leaving.push(leave(orders));
        orders = undefined;
      },
      () => void (connections += 1),
    ];
    const write = () => {
      const urls = pets.map(({ url }) => url);
      const services = kit.onlyPets(urls, { connections, audience: `pets-${connections}` });
      return kit.write(orders === undefined ? services : { ...kit.withOrders([orders.url]), ...services });
    };

    // Half of the clients keep their connections, the others make one for each request.
    const request = (client: number) =>
      client % 2 === 0
        ? kit.get('/v1/pets')
        : send(`${kit.gateway.url}/v1/pets`, { key: kit.key, headers: { connection: 'close' } });
    await using load = startLoad(clients, async (client) => (await request(client)).status, pauseMs);
    for (let change = 0; change < changes; change += 1) {
      await steps[change % steps.length]?.();
      await write();
      expect(await kit.reload()).toContain('"msg":"workers are replaced');
    }
    expect(countOutcomes(await load.stop())).toEqual({ 200: load.outcomes.length });
    await Promise.all(leaving);
  },
);
