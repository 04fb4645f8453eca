import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
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
  const incremental = 'appendonlydir/appendonly.aof.1.incr.aof';
  const intact = shared(temporaryDirectory);

  /** Starts it, and stops it at the end of `use`. @returns the log, and what `use` returns */
  async function withRedis<T>(DATA_DIR: string, use: (redis: Redis) => Promise<T>) {
    const lines: string[] = [];
    const started = await startEmbeddedRedis(
      DATA_DIR,
      pino({ level: 'debug' }, { write: (line) => void lines.push(line) }),
    );
    const redis = new Redis(started.url);
    try {
      return { log: lines.join(''), result: await use(redis) };
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
    const { result } = await withRedis(intact.path, async () => {
      const url = readFileSync(join(intact.path, 'redis.url'), 'utf8');
      return promisify(execFile)('redis-cli', ['--no-auth-warning', '-u', url, 'GET', names[0] ?? '']);
    });
    expect(result).toEqual({ stdout: 'a value\n', stderr: '' });
  });

  /** A copy of the files, changed. @returns the data directory and that of Redis */
  async function damagedCopy(damage: (redisDirectory: string) => void) {
    const directory = await temporaryDirectory();
    onTestFinished(() => directory[Symbol.asyncDispose]());
    cpSync(intact.path, directory.path, { recursive: true });
    const redisDirectory = join(directory.path, 'redis');
    damage(redisDirectory);
    return { DATA_DIR: directory.path, redisDirectory };
  }

  const command = (...words: string[]) =>
    `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
  const setCommand = command('set', 'name-100', 'a value');

  test.each<[string, (file: string) => void, number]>([
    ['zeros', (file) => appendFileSync(file, Buffer.alloc(5000)), 200],
    ['half a command', (file) => appendFileSync(file, setCommand.slice(0, -9)), 200],
    ['a cut', (file) => truncateSync(file, readFileSync(file).length - 3), 199],
    ['zeros alone', (file) => writeFileSync(file, Buffer.alloc(4096)), 0],
  ])(
    'starts after a power cut that left %s: the damaged end is cut off, and a copy is kept',
    async (_name, damage, left) => {
      const { DATA_DIR, redisDirectory } = await damagedCopy((path) => damage(join(path, incremental)));
      const before = readFileSync(join(redisDirectory, incremental));
      const { log, result } = await withRedis(DATA_DIR, (redis) => redis.dbsize());
      expect(result).toBe(left);
      const copy = readdirSync(redisDirectory).find((name) => name.startsWith('appendonlydir.damaged-'));
      expect(log.split('\n').filter((line) => line.includes(String(copy)))).toHaveLength(1);
      const copied = readFileSync(join(redisDirectory, String(copy), basename(incremental)));
      expect(copied.equals(before)).toBe(true);
      const next = await withRedis(DATA_DIR, (redis) => redis.dbsize());
      expect(next).toMatchObject({ log: '', result: left });
    },
  );

  test.each<[string, (directory: string) => void, RegExp]>([
    [
      'the base is damaged',
      (path) => appendFileSync(join(path, 'appendonly.aof.1.base.rdb'), 'REDIS'),
      /are damaged \(.+\)/,
    ],
    ['the base is missing', (path) => rmSync(join(path, 'appendonly.aof.1.base.rdb')), /are damaged \(.+\)/],
  ])('refuses to start when %s, changes nothing and says what to do', async (_name, damage, reason) => {
    const { DATA_DIR, redisDirectory } = await damagedCopy((path) => damage(join(path, 'appendonlydir')));
    const files = () =>
      readdirSync(join(redisDirectory, 'appendonlydir'), { withFileTypes: true }).map(({ name }) => [
        name,
        readFileSync(join(redisDirectory, 'appendonlydir', name)).length,
      ]);
    const before = files();
    const refused = withRedis(DATA_DIR, (redis) => redis.dbsize());
    await expect(refused).rejects.toThrow(reason);
    await expect(refused).rejects.toThrow(
      `: restore DATA_DIR from a backup, or move ${redisDirectory} away to start without keys`,
    );
    expect(files()).toEqual(before);
  });
});
