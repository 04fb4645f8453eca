import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { placeOfKey } from '../support/kits/keys.ts';
import { snapshot, startOpsKit } from '../support/kits/ops-kit.ts';
import { runOps, runProgram } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

const program = join(import.meta.dirname, '../../gateway/faces/command/main.ts');

interface ShownKey {
  id: string;
  key: string;
  customerId: string;
}

describe('the life cycle of keys', () => {
  const kit = shared(startOpsKit);
  const directory = shared(temporaryDirectory);

  /** Runs a command as a script does. */
  const runScript = (script: string, command: string) =>
    runProgram(['--input-type=module', '-e', script, program, ...command.split(' ')], {
      REDIS_URL: kit.server.url,
    });

  async function writeInput(text: string | Buffer): Promise<string> {
    const path = join(directory.path, `${crypto.randomUUID()}.txt`);
    await writeFile(path, text);
    return path;
  }

  describe('keys export and keys import', () => {
    test('restore keys and customers, also one without a key, in an empty Redis; a second import changes nothing', async () => {
      await using source = await startAnyRedis();
      await using target = await startAnyRedis();
      const opsOn = (url: string) => ({
        run: (...args: string[]) => runOps(args, { REDIS_URL: url }),
        async json<T>(...args: string[]) {
          const { code, stdout, stderr } = await runOps([...args, '--json'], { REDIS_URL: url });
          expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
          return JSON.parse(stdout) as T;
        },
      });
      const [from, to] = [opsOn(source.url), opsOn(target.url)];
      const create = (...args: string[]) =>
        from.json<{ id: string }>('customers', 'create', '--plan', 'free', ...args);
      const { id: plain } = await create('--name', 'Plain');
      const texts = ['--contact', 'a@example.com', '--notes', 'VIP', '--reference', 'R-1'];
      const { id: full } = await create('--name', 'Full', '--day', '9', ...texts);
      await from.json('customers', 'set', full, '--minute', '7');
      await from.json('customers', 'suspend', full);
      const withKey = ['--plan', 'free', '--name', 'With a key', '--expires', '2099-01-01'];
      const { customerId, id, key } = await from.json<ShownKey>('keys', 'issue', ...withKey);
      await from.json('keys', 'revoke', '--yes', id);

      const exported = await from.run('keys', 'export');
      expect(exported).toMatchObject({ code: 0, stderr: '' });
      expect(exported.stdout).not.toContain(key.slice(9));
      const lines = exported.stdout.trimEnd().split('\n');
      const parsed = lines.map((line) => JSON.parse(line) as { customerId: string; sha256?: string });
      expect(parsed.map(({ customerId: of, sha256 }) => [of, sha256?.length])).toEqual([
        [customerId, 64],
        [plain, undefined],
        [full, undefined],
      ]);
      const file = await writeInput(exported.stdout);
      expect(await to.json('keys', 'import', file)).toEqual({ added: 3, unchanged: 0, outdated: 0 });
      const place = await placeOfKey(source.redis, key);
      const ofCustomers = [plain, full, customerId].map((of) => redisKeys.customer(of as 'cus_x'));
      for (const name of [...ofCustomers, redisKeys.apiKey(place)]) {
        const record = async (redis: typeof source.redis) => {
          const { rev: _raised, ...fields } = await redis.hgetall(name);
          return fields;
        };
        expect(await record(target.redis)).toEqual(await record(source.redis));
      }
      const listed = await to.json<{ id: string; keys: number }[]>('customers', 'list');
      expect(listed.map(({ id, keys }) => [id, keys])).toEqual([
        [plain, 0],
        [full, 0],
        [customerId, 1],
      ]);
      expect((await to.json<object[]>('audit', '--count', '1'))[0]).toMatchObject({
        action: 'keys.import',
        after: { count: 3 },
      });

      const imported = await snapshot(target.redis);
      expect(await to.json('keys', 'import', file)).toMatchObject({ added: 0, unchanged: 3 });
      expect(await snapshot(target.redis)).toEqual(imported);
      await to.json('customers', 'set', plain, '--name', 'Renamed');
      // An import restores a lost index.
      await target.redis.zrem(redisKeys.customers, plain, full);
      expect(await to.json('keys', 'import', file)).toMatchObject({ added: 0, unchanged: 3 });
      expect(await to.json('customers', 'show', plain)).toMatchObject({ name: 'Renamed' });
      expect(await to.json('customers', 'list')).toHaveLength(3);
    });

    test('report an invalid line and import nothing', async () => {
      const createdAt = new Date().toISOString();
      const customer = { name: 'New', plan: 'free', createdAt, rev: '1' };
      const key = { id: 'key_new', name: 'New', createdAt };
      const ofKey = { customerId: 'cus_key', customer, sha256: 'a'.repeat(64), key };
      const ofCustomer = { customerId: 'cus_new', customer };
      await kit.issue();
      const [known = ''] = (await kit.run('keys', 'export')).stdout.split('\n');
      const { key: present, sha256 } = JSON.parse(known) as { key: { id: string }; sha256: string };
      const { id } = present;
      const invalidLines: [object | string, RegExp][] = [
        ['{', /line 2: it is not JSON as ops keys export prints it/],
        [{ ...ofKey, sha256: 'abc' }, /line 2: sha256 is not a SHA-256/],
        [
          { ...ofKey, customer: { ...customer, minute: '0' } },
          /line 2: gw:customer:\S+ is invalid \(minute /,
        ],
        [{ ...ofKey, customer: { ...customer, plan: 'nope' } }, /line 2: there is no plan named "nope"/],
        [{ ...ofKey, key: undefined }, /line 2: sha256 and key belong together/],
        [{ ...ofKey, key: { ...key, createdAt: 'yesterday' } }, /line 2: key has a createdAt that is not/],
        [{ ...ofCustomer, customer: { ...customer, rev: '9'.repeat(15) } }, /line 2: customer has a rev of/],
        [{ ...ofKey, secret: 'pets_secret' }, /line 2: .*"secret"/],
        [{ ...ofKey, key: { ...key, id: 'cus_1' } }, /line 2: key has no valid id/],
        [{ ...ofKey, key: { ...key, id } }, /line 2: key_\w+ is the id of another key in this Redis/],
        [{ ...ofKey, sha256 }, /line 2: the key of key_new has the id key_\w+ in this Redis/],
        [{ ...ofKey, key: { ...key, id: 'key_first' } }, /line 2: a{64} is in line 1, too/],
        [`${JSON.stringify(ofCustomer)}\n${JSON.stringify(ofCustomer)}`, /line 3: cus_new is in line 2, too/],
        [
          { ...ofCustomer, customer: { ...customer, plan: 'enterprise' } },
          /line 2: an enterprise customer needs a limit of its own/,
        ],
        [{ ...ofCustomer, customerId: undefined }, /line 2: customerId /],
      ];
      const before = await snapshot(kit.redis);
      for (const [line, message] of invalidLines) {
        const second = typeof line === 'string' ? line : JSON.stringify(line);
        const first = JSON.stringify(
          second.includes('key_first')
            ? ofKey
            : { ...ofKey, key: { ...key, id: 'key_1' }, sha256: 'b'.repeat(64) },
        );
        const { code, stderr } = await kit.run('keys', 'import', await writeInput(`${first}\n${second}\n`));
        expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) as string });
      }
      expect(await snapshot(kit.redis)).toEqual(before);
    });
  });

  test('keys issue fails if it cannot print the key, and the audit log has its entry', async () => {
    const { code, stderr } = await runScript(closedOutputProgram, 'keys issue --plan free --name Unread');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: "ops: can't print the result (EPIPE); for changes see: ops audit\n",
    });
    const [last] = await kit.json<{ after: { name: string } }[]>('audit', '--count', '1');
    expect(last?.after.name).toBe('Unread');
  });
});

/** Runs a command whose standard output is closed from the start. */
const closedOutputProgram = `
  import { spawn } from 'node:child_process';
  const child = spawn(process.execPath, process.argv.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.destroy();
  child.on('exit', (code) => process.exit(code ?? 1));
`;
