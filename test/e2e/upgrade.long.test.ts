import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { checkOut } from '../bench/checkout.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, placeOfKey } from '../support/kits/keys.ts';
import { runProgram, startGateway, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startLoad, type SteadyLoad } from '../support/load/steady-load.ts';
import { dayUsage } from '../support/stores/day-counter.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The last release before this commit: its tag is v and a version. */
function lastRelease(): string | undefined {
  const { status, stdout } = spawnSync(
    'git',
    ['describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', 'HEAD'],
    { cwd: root, encoding: 'utf8' },
  );
  return status === 0 ? stdout.trim() : undefined;
}

const release = lastRelease();
if (release === undefined) {
  console.warn(
    'upgrade test: no tag v* is reachable from HEAD, so this commit stands for the release before',
  );
}

/** Two gateways at a time on one Redis, behind what takes turns between those that are ready. */
describe(
  `an upgrade from ${release ?? 'this commit, for want of a tag,'} and back`,
  { timeout: 120_000 },
  () => {
    const server = shared(startAnyRedis);
    const redis = shared(() => connectRedis(server.url));
    const upstream = shared(startUpstream);
    const checkout = shared(temporaryDirectory);
    const stack = shared(() => Promise.resolve(new AsyncDisposableStack()));
    let before: string;
    let gateways: Service[];
    /** Those that have said that they are ready, as a balancer asks them. */
    const ready = new Set<Service>();
    const counted = new Map<string, number>();

    beforeAll(async () => {
      before = join(checkout.path, 'before');
      await checkOut(release ?? 'HEAD', before);
      gateways = [stack.use(await start(before)), stack.use(await start(before))];
      const ask = (gateway: Service) =>
        send(`${gateway.adminUrl}/readyz`).then(
          ({ status }) => (status === 200 ? ready.add(gateway) : ready.delete(gateway)),
          () => ready.delete(gateway),
        );
      stack.use(startLoad(1, () => Promise.all(gateways.map(ask)), 50));
      await vi.waitUntil(() => ready.size === 2, { timeout: 20_000 });
    }, 120_000);

    const start = (directory: string) =>
      startGateway(
        {
          REDIS_URL: server.url,
          PETS_SERVICE_URL: upstream.url,
          GATEWAY_WORKERS: '2',
          SHUTDOWN_DELAY_MS: '1000',
        },
        { directory },
      );

    async function ops(directory: string, ...args: string[]): Promise<unknown> {
      const { code, stdout, stderr } = await runProgram(
        ['gateway/faces/command/main.ts', ...args, '--json'],
        { REDIS_URL: server.url },
        { directory },
      );
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout);
    }

    async function issue(directory: string, name: string): Promise<string> {
      const limits = ['--minute', '1000000', '--day', '10000000'];
      const issued = await ops(directory, 'keys', 'issue', '--name', name, '--plan', 'free', ...limits);
      const { key } = issued as { key: string };
      counted.set(key, 0);
      return key;
    }

    /** Requests with each key by turns, each on the next gateway that is ready. */
    function startTraffic(...keys: string[]): SteadyLoad<number> {
      let turn = 0;
      return startLoad(4, async () => {
        turn += 1;
        const key = keys[turn % keys.length] ?? '';
        const targets = [...ready];
        const { status } = await send(`${targets[turn % targets.length]?.url}/v1/pets`, { key });
        counted.set(key, (counted.get(key) ?? 0) + 1);
        return status;
      });
    }

    const more = ({ outcomes }: SteadyLoad<number>) => {
      const before = outcomes.length;
      return expect.poll(() => outcomes.length).toBeGreaterThan(before + 50);
    };

    /** Replaces one gateway after the other, each after the new one is ready. */
    async function replaceAll(directory: string, load: SteadyLoad<number>): Promise<void> {
      for (const old of gateways.slice()) {
        const next = stack.use(await start(directory));
        gateways.push(next);
        await expect.poll(() => ready.has(next)).toBe(true);
        await more(load);
        // It says that it is not ready, and serves on until the balancer knows.
        expect(await old.stop()).toBe(0);
        gateways = gateways.filter((gateway) => gateway !== old);
        await more(load);
      }
    }

    async function expectCounted(): Promise<void> {
      for (const [key, requests] of counted) {
        const { customerId } = await placeOfKey(redis, key);
        expect(await dayUsage(redis, customerId)).toBe(requests);
      }
    }

    test('loses no request, and both versions count in the same counters and know the same keys', async () => {
      const old = await issue(before, 'before the upgrade');
      await using upgrade = startTraffic(old);
      await more(upgrade);
      await replaceAll(root, upgrade);
      expect(new Set(await upgrade.stop())).toEqual(new Set([200]));
      await expectCounted();

      const fresh = await issue(root, 'after the upgrade');
      await using rollback = startTraffic(old, fresh);
      await more(rollback);
      await replaceAll(before, rollback);
      expect(new Set(await rollback.stop())).toEqual(new Set([200]));
      await expectCounted();

      for (const directory of [before, root]) {
        const entries = JSON.stringify(await ops(directory, 'audit'));
        for (const name of ['before the upgrade', 'after the upgrade']) expect(entries).toContain(name);
      }
    });
  },
);
