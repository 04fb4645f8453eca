import { describe, expect, onTestFinished, test } from 'vitest';
import { startReloadKit } from '../support/kits/reload-kit.ts';
import { threeWorkers } from '../support/kits/worker-processes.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

/** Requests between two changes: at 500 requests a second, a change each 2 s for a minute. */
const requestsPerChange = 1000;
const clients = 16;
/** Keeps the load near 500 requests a second on a machine that could do more. */
const pauseMs = 25;

describe.each([
  { name: 'one process', env: {}, changes: 10 },
  { name: 'three workers', env: threeWorkers, changes: 30 },
])('a gateway of $name', ({ env, changes }) => {
  test(
    'fails no request while instances and services are added, moved and removed',
    { timeout: 600_000 },
    async () => {
      await using kit = await startReloadKit(env);
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
        // Settings whose change takes other connections and other tokens.
        () => void (connections += 1),
      ];
      const write = () => {
        const urls = pets.map(({ url }) => url);
        const services = kit.onlyPets(urls, { connections, audience: `pets-${connections}` });
        return kit.write(orders === undefined ? services : { ...kit.withOrders([orders.url]), ...services });
      };

      await write();
      expect((await kit.reload()).code).toBe(0);
      await using load = startLoad(clients, async () => (await kit.get('/v1/pets')).status, pauseMs);
      const codes: unknown[] = [];
      for (let change = 0; change < changes; change += 1) {
        await steps[change % steps.length]?.();
        await write();
        // Both ways of asking for it.
        if (change % 2 === 0) kit.gateway.signal('SIGHUP');
        else codes.push((await kit.reload()).code);
        const wanted = (change + 1) * requestsPerChange;
        await expect.poll(() => load.outcomes.length, { timeout: 120_000 }).toBeGreaterThan(wanted);
      }
      expect(new Set(codes)).toEqual(new Set([0]));
      expect(countOutcomes(await load.stop())).toEqual({ 200: load.outcomes.length });
      await Promise.all(leaving);
      expect(kit.gateway.output()).not.toContain('reload is refused');
      expect(kit.gateway.output().match(/"msg":"files are reloaded"/g)).toHaveLength(changes + 1);
    },
  );
});
