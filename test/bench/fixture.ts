import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueKey, type IssuedApiKey, type NewApiKey } from '../../gateway/control/keys/keys.ts';
import { hashApiKey } from '../../gateway/keys/api-key-format.ts';
import { maxLimit } from '../../gateway/limits/limits.ts';
import { dayNumberOf, utcDate } from '../../gateway/limits/windows.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { loadScript } from '../../gateway/platform/redis/scripts.ts';
import { seedDefaults } from '../../gateway/quota/default-settings.ts';
import { freePort } from '../support/http/free-port.ts';
import { adoptKeyPrefix, connectRedis, sessionOf } from '../support/kits/keys.ts';
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
  await adoptKeyPrefix(redis);
  const session = sessionOf(redis, 'bench');
  await seedDefaults(redis, 'benchmark', 0);
  // So that exhausted keys stay refused by their quota.
  await redis.hset(redisKeys.banPolicy, 'enabled', 'false');
  const issue = async (count: number, overrides: Partial<NewApiKey>): Promise<IssuedApiKey[]> => {
    const keys: IssuedApiKey[] = [];
    while (keys.length < count) {
      const issued = Array.from({ length: Math.min(batchSize, count - keys.length) }, () =>
        issueKey(session, { name: 'bench', plan: 'free', ...overrides }),
      );
      keys.push(...(await Promise.all(issued)));
    }
    return keys;
  };
  const unlimited = { minute: maxLimit, day: maxLimit };
  const [hot, banned] = await issue(2, unlimited);
  if (hot === undefined || banned === undefined) throw new Error('expected two keys');
  const { customerId } = banned.record;
  await redis.set(redisKeys.ban({ customerId, keyHash: hashApiKey(banned.key) }), 'bench', 'EX', 3600);
  const keysFile = join(directory, 'keys');
  const exhaustedFile = join(directory, 'exhausted');
  await writeFile(keysFile, textOf(await issue(keyCount, unlimited)));
  const exhausted = await issue(1000, { minute: 1, day: 1 });
  const today = utcDate(dayNumberOf(Date.now()));
  const [month, day] = [today.slice(0, 6), today.slice(6)];
  await Promise.all(
    exhausted.map(({ record }) => redis.hset(redisKeys.usageMonth(record.customerId, month), day, 1)),
  );
  await writeFile(exhaustedFile, textOf(exhausted));
  const scriptSha = String(await redis.script('LOAD', loadScript('consume.lua')));
  redis.disconnect();

  const disposables = stack.move();
  return {
    directory,
    redisPort,
    upstreamPort,
    scriptSha,
    hotKey: hot.key,
    keys: keysFile,
    exhausted: exhaustedFile,
    banned: banned.key,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/** One key per line. */
function textOf(issued: readonly IssuedApiKey[]): string {
  return issued.map(({ key }) => key).join('\n');
}

/** Same persistence as in docker-compose.yml: an append-only file, synced every second. */
function startRedis(directory: string, port: number): Promise<PinnedProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, '--save', ''];
  return startPinned({
    core: cores.support,
    command: 'redis-server',
    args: [...args, '--appendonly', 'yes', '--appendfsync', 'everysec'],
    directory,
    port,
  });
}
