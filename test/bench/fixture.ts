import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hashApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { maxLimit } from '../../gateway/limits/limits.ts';
import { dayNumberOf, utcDate } from '../../gateway/limits/utc-day.ts';
import { createApiKeyStore, type NewApiKey } from '../../gateway/operations/api-key-store.ts';
import { seedDefaults } from '../../gateway/quota/seed-defaults.ts';
import { loadScript } from '../../gateway/redis/load-script.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis } from '../support/kits/keys.ts';
import type { BenchEnvironment } from './contenders.ts';
import { upstream } from './contenders/nginx.ts';
import { cores, startPinned, type PinnedProcess } from './pinned-process.ts';

/** Redis with its keys, and the upstream; all contenders share them. */
export interface Fixture extends BenchEnvironment, AsyncDisposable {
  hotKey: string;
  /** File with one API key per line. */
  keys: string;
  /** File with one API key per line; their day quotas are used up. */
  exhausted: string;
  banned: string;
}

const keyCount = 10_000;
const batchSize = 500;

export async function setUpBench(): Promise<Fixture> {
  await using stack = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'animal-store-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  // nginx workers drop root privileges and still need access.
  await chmod(directory, 0o755);
  const [redisPort, upstreamPort] = [await freePort(), await freePort()];
  const redisServer = await startRedis(directory, redisPort);
  stack.defer(() => redisServer.stop());
  const upstreamServer = await startPinned({
    core: cores.support,
    command: 'nginx',
    args: await upstream(directory, upstreamPort),
    directory,
    port: upstreamPort,
  });
  stack.defer(() => upstreamServer.stop());

  const redis = await connectRedis(`redis://127.0.0.1:${redisPort}`);
  const store = createApiKeyStore({ redis, audit: createAuditLog({ redis, who: 'bench' }), now: Date.now });
  await seed(redis);
  const issue = async (count: number, overrides: Partial<NewApiKey>): Promise<string[]> => {
    const keys: string[] = [];
    while (keys.length < count) {
      const issued = Array.from({ length: Math.min(batchSize, count - keys.length) }, () =>
        store.issue({ name: 'bench', plan: 'free', ...overrides }),
      );
      keys.push(...(await Promise.all(issued)).map(({ key }) => key));
    }
    return keys;
  };
  const unlimited = { minute: maxLimit, day: maxLimit };
  const [hotKey = ''] = await issue(1, unlimited);
  const [banned = ''] = await issue(1, unlimited);
  await redis.set(redisKeys.ban(hashApiKey(banned)), 'bench', 'EX', 3600);
  const keysFile = join(directory, 'keys');
  const exhaustedFile = join(directory, 'exhausted');
  await writeFile(keysFile, (await issue(keyCount, unlimited)).join('\n'));
  const exhausted = await issue(1000, { minute: 1, day: 1 });
  const today = utcDate(dayNumberOf(Date.now()));
  await Promise.all(exhausted.map((key) => redis.set(redisKeys.day(hashApiKey(key), today), 1)));
  await writeFile(exhaustedFile, exhausted.join('\n'));
  const scriptSha = String(await redis.script('LOAD', loadScript('consume.lua')));
  redis.disconnect();

  const disposables = stack.move();
  return {
    directory,
    redisPort,
    upstreamPort,
    scriptSha,
    hotKey,
    keys: keysFile,
    exhausted: exhaustedFile,
    banned,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/** Same persistence as in docker-compose.yml: an append-only file, synced every second. */
export function startRedis(directory: string, port: number): Promise<PinnedProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  return startPinned({
    core: cores.support,
    command: 'redis-server',
    args: [...args, '--appendonly', 'yes', '--appendfsync', 'everysec'],
    directory,
    port,
  });
}

/** Bans are disabled, so that exhausted keys stay refused by their quota. */
async function seed(redis: Awaited<ReturnType<typeof connectRedis>>): Promise<void> {
  await seedDefaults(redis, 'benchmark', 0);
  await redis.hset(redisKeys.banPolicy, 'enabled', 'false');
}
