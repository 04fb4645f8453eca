import { describe, expect, test } from 'vitest';
import { backupCommands, runDocumented as run } from '../support/checks/runbook-commands.ts';
import { send } from '../support/http/http.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { runOps, startGateway, type Service } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** Limit of requests without a valid key in the backup. */
const addressLimit = 65_000;

describe('the documented backup', { tags: ['redis-server'], timeout: 120_000 }, () => {
  async function expectServed(gateway: Service, keys: Map<string, string>): Promise<void> {
    for (const [key, limit] of keys) {
      const response = await send(`${gateway.url}/v1/pets`, { key });
      expect([response.status, response.header('X-RateLimit-Limit')]).toEqual([200, limit]);
    }
  }

  /**
   * Sends requests all the time, and collects limits that are not the tuned ones. A key that is not imported yet has the
   * limit of the address. While Redis does not reply in time, each of the gateways enforces its share of a limit.
   */
  function watchLimits(gateways: readonly Service[], keys: Map<string, string>) {
    const wrong = new Set<string>();
    let requests = 0;
    const stopping = new AbortController();
    const watch = async (gateway: Service) => {
      while (!stopping.signal.aborted) {
        for (const [key, limit] of keys) {
          const { status, header } = await send(`${gateway.url}/v1/pets`, { key });
          const tuned = Number(status === 200 ? limit : addressLimit);
          const shown = Number(header('X-RateLimit-Limit'));
          if (shown !== tuned && shown !== tuned / gateways.length)
            wrong.add(`${status}: ${shown} of ${tuned}`);
          requests += 1;
        }
      }
    };
    const done = Promise.all(gateways.map(watch));
    return {
      requests: () => requests,
      async stop(): Promise<string[]> {
        stopping.abort();
        await done;
        return [...wrong].toSorted();
      },
    };
  }

  /** Plans that are all different from the defaults, and high enough for the test. */
  async function tune(kit: OpsKit): Promise<Map<string, string>> {
    const minutes = { free: 61_000, pro: 62_000, business: 63_000, gold: 64_000 };
    for (const [plan, minute] of Object.entries(minutes)) {
      await kit.json('plans', 'set', plan, '--create', '--minute', String(minute), '--day', '900000');
    }
    await kit.json('policy', 'set', '--anonymous-minute', String(addressLimit));
    await kit.json('policy', 'set', '--strikes', '77');
    const issued = new Map<string, string>();
    for (const [plan, minute] of Object.entries(minutes)) {
      issued.set((await kit.issue({ plan })).key, String(minute));
    }
    issued.set((await kit.issue({ plan: 'enterprise', minute: 66_000, day: 900_000 })).key, '66000');
    return issued;
  }

  async function expectRestored(kit: OpsKit, url: string): Promise<void> {
    const ops = (...args: string[]) => runOps(args, { REDIS_URL: url });
    const { stdout, stderr } = await ops('plans', 'list');
    expect(stdout).not.toContain('ENFORCED');
    expect(stderr).toBe('');
    expect(JSON.parse((await ops('policy', 'show', '--json')).stdout)).toMatchObject({
      stored: { strikes: 77 },
    });
    await using second = await startGateway({ REDIS_URL: url, PETS_SERVICE_URL: kit.upstream.url });
    expect((await send(`${second.url}/v1/pets`)).header('X-RateLimit-Limit')).toBe(String(addressLimit));
  }

  test('is restored after Redis has lost everything, while gateways run whose limits never differ', async () => {
    const { backup, restore } = backupCommands();
    await using kit = await startOpsKit();
    await using directory = await temporaryDirectory();
    await using other = await startGateway(kit.env);
    const keys = await tune(kit);
    for (const gateway of [kit.gateway, other])
      await expect.poll(() => expectServed(gateway, keys)).toBeUndefined();
    await run(backup, directory.path, kit.server.url);
    const watched = watchLimits([kit.gateway, other], keys);
    await kit.redis.flushall();
    await expect.poll(watched.requests).toBeGreaterThan(50);
    await run(restore, directory.path, kit.server.url);
    await expectServed(kit.gateway, keys);
    await expectServed(other, keys);
    // Longer than gateways take to read their settings again.
    const soFar = watched.requests();
    await expect.poll(watched.requests).toBeGreaterThan(soFar + 200);
    expect(await watched.stop()).toEqual([]);
    await expectRestored(kit, kit.server.url);
  });
});
