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
      expect(await to.json('keys', 'import', file)).toEqual({
        added: 3,
        unchanged: 0,
        outdated: 0,
      });
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

    test('keep separators of lines in a name, and refuse what is no UTF-8', async () => {
      const { id, customerId, keyHash } = await kit.issue({ name: 'Original' });
      const name = 'caf\u00e9\u2028and\u2029more';
      await kit.redis.hset(redisKeys.apiKey({ customerId, keyHash }), 'name', name);
      const { stdout } = await kit.run('keys', 'export');
      const exported = stdout.split('\n').find((line) => line.includes(id)) ?? '';
      expect(exported).toContain(name);
      await using other = await startAnyRedis();
      const run = (...args: string[]) => runOps(args, { REDIS_URL: other.url });
      const latin1 = await run('keys', 'import', await writeInput(Buffer.from(exported, 'latin1')));
      expect([latin1.code, latin1.stderr]).toEqual([
        2,
        expect.stringMatching(/line \d+ is not UTF-8: save the file with this encoding/),
      ]);
      expect(await other.redis.keys('gw:key*')).toEqual([]);
      const file = await writeInput(`${exported}\r\n`);
      expect(await run('keys', 'import', file)).toMatchObject({ code: 0, stderr: '' });
      const shown = await run('keys', 'show', id, '--json');
      expect(JSON.parse(shown.stdout)).toMatchObject({ name });
    });

    test('report an invalid line and import nothing', async () => {
      const validRecord = {
        sha256: 'a'.repeat(64),
        id: 'key_new',
        customerId: 'cus_key',
        customer: { name: 'New', createdAt: new Date().toISOString() },
        name: 'New',
        plan: 'free',
        hint: '',
        createdAt: new Date().toISOString(),
        rev: 1,
      };
      const ofCustomer = {
        customerId: 'cus_new',
        customer: { name: 'New', createdAt: new Date().toISOString() },
        plan: 'free',
        rev: 1,
      };
      const [known = ''] = (await kit.run('keys', 'export')).stdout.split('\n');
      const { id, sha256 } = JSON.parse(known) as { id: string; sha256: string };
      const invalidLines: [object | string, RegExp][] = [
        ['{', /line 2 is not JSON/],
        [{ ...validRecord, sha256: 'abc' }, /line 2: sha256 is not a SHA-256/],
        [{ ...validRecord, id: 'x/../key_first' }, /line 2: id is not 1 to 100 letters/],
        [{ ...validRecord, minute: 0 }, /line 2: minute /],
        [{ ...validRecord, minute: '60' }, /line 2: minute /],
        [{ ...validRecord, expiresAt: 'soon' }, /line 2: expiresAt /],
        [{ ...validRecord, plan: 'nope' }, /line 2: there is no plan named "nope"/],
        [{ ...validRecord, key: 'pets_secret' }, /line 2: .*"key"/],
        [{ ...validRecord, id }, /line 2: key_\w+ is the id of another key in this Redis/],
        [{ ...validRecord, sha256 }, /line 2: the key of key_new has the id key_\w+ in this Redis/],
        [{ ...validRecord, id: 'key_first' }, /line 2: a{64} is in line 1, too/],
        [`${JSON.stringify(ofCustomer)}\n${JSON.stringify(ofCustomer)}`, /line 3: cus_new is in line 2, too/],
        [{ ...ofCustomer, plan: 'nope' }, /line 2: there is no plan named "nope"/],
        [{ ...ofCustomer, plan: 'enterprise' }, /line 2: an enterprise customer needs a limit of its own/],
        [{ ...ofCustomer, customerId: 'cus_' }, /line 2: customerId is not cus_ and/],
        [{ ...ofCustomer, customerId: undefined }, /line 2: customerId /],
        [{ ...ofCustomer, day: 0 }, /line 2: day /],
        [{ ...ofCustomer, revokedAt: 'x' }, /line 2: .*"revokedAt"/],
        [{ ...ofCustomer, hint: 'pets_ab12' }, /line 2: .*sha256 /],
      ];
      const before = await snapshot(kit.redis);
      for (const [line, message] of invalidLines) {
        const second = typeof line === 'string' ? line : JSON.stringify(line);
        const first = JSON.stringify(
          second.includes('key_first')
            ? validRecord
            : { ...validRecord, id: 'key_1', sha256: 'b'.repeat(64) },
        );
        const { code, stderr } = await kit.run('keys', 'import', await writeInput(`${first}\n${second}\n`));
        expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(message) as string });
      }
      expect(await snapshot(kit.redis)).toEqual(before);
    });
  });

  test('keys list prints every key once, and never scans', { tags: ['redis-server'] }, async () => {
    const lines = Array.from({ length: 10_000 }, (_, index) => {
      const number = String(index).padStart(5, '0');
      const createdAt = new Date(Date.UTC(2026, 0, 1) + index).toISOString();
      return JSON.stringify({
        sha256: number.padStart(64, 'f'),
        id: `key_many${number}`,
        customerId: `cus_many${number}`,
        customer: { name: `Many ${index}`, createdAt },
        name: `Many ${index}`,
        plan: 'free',
        hint: 'pets_0ld0…',
        createdAt,
        rev: 1,
      });
    });
    await kit.json('keys', 'import', await writeInput(lines.join('\n')));
    const total = await kit.redis.zcard(redisKeys.apiKeysByCreation);
    expect(total).toBeGreaterThan(10_000);
    await kit.server.redis.config('RESETSTAT');
    const all = await kit.json<ShownKey[]>('keys', 'list');
    const stats = await kit.server.redis.info('commandstats');
    expect(stats).not.toMatch(/cmdstat_(scan|keys|hscan|zscan|sscan):/);
    expect(all).toHaveLength(total);
    expect(new Set(all.map(({ id }) => id)).size).toBe(total);
    const { stdout } = await kit.run('keys', 'list');
    expect(stdout.trimEnd().split('\n')).toHaveLength(total + 1);
    const { code } = await runScript(headProgram, 'keys list');
    expect(code).toBe(0);
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

/** `ops keys list | head -c 10`: a reader that exits early is not an error. */
const headProgram = `
  import { spawn } from 'node:child_process';
  const child = spawn(process.execPath, process.argv.slice(1), { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.once('data', () => child.stdout.destroy());
  child.on('exit', (code) => process.exit(code ?? 1));
`;
