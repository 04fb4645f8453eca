import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { startEmbeddedRedis } from '../../gateway/platform/redis/embedded/embedded-redis.ts';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { postJson } from '../support/http/http.ts';
import { startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** Runs before the service, and appends the path of each file that Node syncs to a list. */
function recordSyncs(list: string): string {
  const script = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { fsyncSync } = fs;
    fs.fsyncSync = (file) => {
      fsyncSync(file);
      fs.appendFileSync(${JSON.stringify(list)}, fs.readlinkSync('/proc/self/fd/' + file) + '\\n');
    };
    syncBuiltinESMExports();`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

/** What a power cut leaves cannot be tested, but what is on the disk before a response can. */
describe('the embedded PostgreSQL', { tags: ['linux'] }, () => {
  const directory = shared(temporaryDirectory);
  const dataDirectory = () => join(directory.path, 'data');
  const list = () => join(directory.path, 'synced');
  const service = shared(() =>
    startPetsService({ DATA_DIR: dataDirectory(), NODE_OPTIONS: recordSyncs(list()) }),
  );

  test.each([
    ['a create', () => ({})],
    ['a create with an Idempotency-Key', (number: number) => ({ 'Idempotency-Key': `key-${number}` })],
  ])('%s is on the disk before its response', async (_name, headers) => {
    const token = issueServiceToken(loadPrivateKey(undefined, dataDirectory()), 'tests', 600, 'pets-service');
    const walSyncs = () =>
      existsSync(list()) ? readFileSync(list(), 'utf8').split('/postgres/pg_wal/').length - 1 : 0;
    for (let number = 0; number < 20; number += 1) {
      const before = walSyncs();
      const pet = { name: `Pet ${number}`, categoryId: 1 };
      const { status } = await postJson(`${service.url}/v1/pets`, token, pet, headers(number));
      expect(status).toBe(201);
      expect(walSyncs()).toBeGreaterThan(before);
    }
  });
});

describe('the embedded Redis', { tags: ['redis-server'], timeout: 120_000 }, () => {
  const names = Array.from({ length: 200 }, (_, index) => `name-${index}`);
  const intact = shared(temporaryDirectory);

  /** Starts it, and stops it at the end of `use`. @returns what `use` returns */
  async function withRedis<T>(DATA_DIR: string, use: (redis: Redis) => Promise<T>) {
    const started = await startEmbeddedRedis(DATA_DIR, pino({ level: 'silent' }));
    const redis = new Redis(started.url);
    try {
      return await use(redis);
    } finally {
      redis.disconnect();
      await started.close();
    }
  }

  beforeAll(() =>
    withRedis(intact.path, async (redis) => {
      for (const name of names) await redis.set(name, 'a value');
    }),
  );

  test('takes the address in redis.url from redis-cli', async () => {
    const result = await withRedis(intact.path, async () => {
      const url = readFileSync(join(intact.path, 'redis.url'), 'utf8');
      return promisify(execFile)('redis-cli', ['--no-auth-warning', '-u', url, 'GET', names[0] ?? '']);
    });
    expect(result).toEqual({ stdout: 'a value\n', stderr: '' });
  });

  test('starts after a power cut that left half a command at the end of its file', async () => {
    await using directory = await temporaryDirectory();
    cpSync(intact.path, directory.path, { recursive: true });
    const file = join(directory.path, 'redis/appendonlydir/appendonly.aof.1.incr.aof');
    truncateSync(file, readFileSync(file).length - 3);
    expect(await withRedis(directory.path, (redis) => redis.dbsize())).toBe(names.length - 1);
  });
});
