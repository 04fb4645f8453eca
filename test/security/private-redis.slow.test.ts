import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { beforeAll, describe, expect, test } from 'vitest';
import { send, sendRaw } from '../support/http/http.ts';
import { connectRedis } from '../support/kits/keys.ts';
import { runOps, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

/*
 * Every user of the machine, and every web page that one of them opens, can connect to the private Redis.
 */

const urlFile = (directory: TemporaryDirectory) => join(directory.path, 'redis.url');
const readUrl = (directory: TemporaryDirectory) => readFile(urlFile(directory), 'utf8');
const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

const kinds = [
  { name: 'in JavaScript', PATH: '', tags: [] },
  { name: 'as redis-server', PATH: process.env['PATH'] ?? '', tags: ['redis-server'] },
];

for (const { name, PATH, tags } of kinds)
  describe(`the private Redis ${name}`, { tags }, () => {
    const directory = shared(temporaryDirectory);
    const env = { PATH, PETS_SERVICE_URL: 'http://127.0.0.1:9' };
    const settings = () => ({ ...env, DATA_DIR: directory.path });
    const gateway = shared(() => startGateway({ ...settings(), GATEWAY_WORKERS: '2' }));
    let port: number;
    beforeAll(async () => {
      port = Number(new URL(await readUrl(directory)).port);
    });

    /** Value that the tests' commands would change. */
    async function minuteLimit(): Promise<string | null> {
      const redis = await connectRedis(await readUrl(directory));
      const minute = await redis.hget('gw:plan:free', 'minute');
      redis.disconnect();
      return minute;
    }

    test.each(['PING', 'HSET gw:plan:free minute 1', 'EVAL return{} 0', 'SHUTDOWN'])(
      'does not execute %s without its password',
      async (command) => {
        const redis = new Redis(port, '127.0.0.1', {
          lazyConnect: true,
          enableReadyCheck: false,
          protocol: 2,
        });
        const [commandName = '', ...args] = command.split(' ');
        await expect(redis.call(commandName, ...args)).rejects.toThrow('NOAUTH');
        redis.disconnect();
        expect(await minuteLimit()).toBe('60');
      },
    );

    test('does not accept a wrong password', async () => {
      const redis = new Redis(port, '127.0.0.1', { password: 'wrong', retryStrategy: () => null });
      const error = await new Promise<Error>((resolve) => redis.once('error', resolve));
      expect(error.message).toContain('WRONGPASS');
      redis.disconnect();
    });

    test.each(['POST / HTTP/1.1', 'GET / HTTP/1.1', 'HSET gw:plan:free minute 1'])(
      'closes a connection that begins with %s, and executes nothing',
      async (firstLine) => {
        const commands = 'HSET gw:plan:free minute 1\r\nSHUTDOWN NOSAVE\r\n';
        const request = `${firstLine}\r\nHost: 127.0.0.1\r\nContent-Length: ${commands.length}\r\n\r\n${commands}`;
        expect(await sendRaw(port, request)).toMatch(/^(-.+\r\n)*$/);
        expect(await minuteLimit()).toBe('60');
      },
    );

    test('serves the workers and the ops command, which find its password in a file of the owner', async () => {
      expect(await modeOf(urlFile(directory))).toBe('600');
      const issue = ['keys', 'issue', '--plan', 'free', '--name', 'x', '--json'];
      const { stdout } = await runOps(issue, settings());
      const { key } = JSON.parse(stdout) as { key: string };
      const usage = await send(`${gateway.url}/v1/usage`, { key });
      expect({ status: usage.status, limit: usage.header('X-RateLimit-Limit') }).toEqual({
        status: 200,
        limit: '60',
      });
    });

    test('has a new password after each start', async () => {
      const { password } = new URL(await readUrl(directory));
      expect(password).toMatch(/^[\da-f]{64}$/);
      // A stranger who is connected keeps nothing from stopping.
      const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, enableReadyCheck: false, protocol: 2 });
      redis.on('error', () => {});
      await redis.connect();
      expect(await gateway.stop()).toBe(0);
      redis.disconnect();
      await using _next = await startGateway(settings());
      expect(new URL(await readUrl(directory)).password).not.toBe(password);
    });
  });
