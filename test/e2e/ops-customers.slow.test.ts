import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CustomerDetail, CustomerView } from '../../gateway/operations/customers.ts';
import { redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { runOps } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

interface Issued {
  id: string;
  key: string;
  customerId: CustomerId;
}

describe('ops customers', { timeout: 120_000 }, () => {
  let kit: OpsKit;
  let directory: TemporaryDirectory;
  beforeAll(async () => {
    kit = await startOpsKit();
    directory = await temporaryDirectory();
  });
  afterAll(async () => {
    await directory[Symbol.asyncDispose]();
    await kit[Symbol.asyncDispose]();
  });

  const issue = (...args: string[]) => kit.json<Issued>('keys', 'issue', ...args);
  const status = async (key: string) => (await kit.pets(key)).status;

  test('a key is issued with a customer in one step, and further keys share its limits', async () => {
    const first = await issue('--plan', 'free', '--name', 'Acme', '--day', '3');
    const second = await issue('--customer', first.customerId, '--name', 'Acme mobile');
    expect(second).toMatchObject({ customerId: first.customerId, name: 'Acme mobile', plan: 'free', day: 3 });
    expect([await status(first.key), await status(second.key), await status(first.key)]).toEqual([
      200, 200, 200,
    ]);
    expect([await status(first.key), await status(second.key)]).toEqual([429, 429]);
    const shown = await kit.json<CustomerDetail>('customers', 'show', first.customerId);
    expect(shown).toMatchObject({
      name: 'Acme',
      keys: 2,
      windows: { day: { used: 3, limit: 3, remaining: 0 } },
      next: { served: false, reason: 'day' },
      items: [{ id: second.id }, { id: first.id }],
    });
    const { stdout } = await kit.run('customers', 'show', first.customerId);
    expect(stdout).toMatch(/^next +refused until 00:00:00 UTC: 3 of 3 used today$/m);
    expect(stdout).toContain(second.id);
    expect(await kit.json('usage', first.customerId)).toMatchObject({
      id: first.customerId,
      day: { used: 3 },
    });
    const refused = await kit.run('keys', 'issue', '--customer', first.customerId, '--plan', 'pro');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('plan and limits are those of the customer');
  });

  async function auditedActions(target: string): Promise<string[]> {
    const { stdout } = await kit.run('audit', '--target', target, '--json');
    const entries = stdout
      .trim()
      .split('\n')
      .flatMap((line) => JSON.parse(line) as { action: string } | { action: string }[]);
    return entries.map(({ action }) => action).toSorted();
  }

  test('a customer is made, changed, suspended, resumed and removed, and the audit log has each change', async () => {
    const made = await kit.json<CustomerView>(
      'customers',
      'create',
      '--plan',
      'pro',
      '--name',
      'Billing Test',
      '--reference',
      'C-1',
    );
    expect(made).toMatchObject({ state: 'active', keys: 0, reference: 'C-1' });
    const { id } = made;
    const { key, id: keyId } = await issue('--customer', id);
    await kit.json(
      'customers',
      'set',
      id,
      '--plan',
      'business',
      '--minute',
      '7',
      '--contact',
      'ada@example.com',
    );
    expect((await kit.pets(key)).header('RateLimit-Policy')).toBe(
      '"minute";q=7;w=60, "day";q=100000;w=86400',
    );
    const set = await kit.json<CustomerView>('customers', 'set', id, '--minute', 'plan', '--contact', 'none');
    expect(set).toMatchObject({ minute: null, contact: null, reference: 'C-1' });
    await kit.json('customers', 'suspend', id, '--reason', 'unpaid');
    expect((await kit.pets(key)).json).toMatchObject({ code: 'account_suspended' });
    expect(await kit.json('keys', 'show', keyId)).toMatchObject({ state: 'suspended' });
    await kit.json('customers', 'resume', id);
    expect(await status(key)).toBe(200);
    expect((await kit.run('customers', 'remove', id)).stderr).toContain(
      `has the key ${keyId}, which is valid`,
    );
    await kit.json('keys', 'revoke', '--yes', keyId);
    // Until it is removed, its history has the changes of its keys too.
    const changes = ['create', 'resume', 'set', 'set', 'suspend'].map((verb) => `customers.${verb}`);
    expect(await auditedActions(id)).toEqual([...changes, 'keys.issue', 'keys.revoke']);
    await kit.json('customers', 'remove', id);
    expect(await kit.run('customers', 'show', id)).toMatchObject({ code: 2 });
    expect(await auditedActions(id)).toEqual([...changes, 'customers.remove'].toSorted());
  });

  test('customers are listed by plan and name, as a table, as JSON and as CSV', async () => {
    await kit.json('customers', 'create', '--plan', 'pro', '--name', 'List One', '--notes', '=SUM(A1)');
    await kit.json('customers', 'create', '--plan', 'free', '--name', 'List Two');
    const { stdout } = await kit.run('customers', 'list', '--name', 'list', '--json');
    const listed = JSON.parse(stdout) as CustomerView[];
    expect(listed.map(({ name, plan }) => [name, plan])).toEqual([
      ['List One', 'pro'],
      ['List Two', 'free'],
    ]);
    const csv = (await kit.run('customers', 'list', '--name', 'list', '--plan', 'pro', '--output', 'csv'))
      .stdout;
    const [columns = '', row = ''] = csv.split('\n');
    expect(row).toContain("'=SUM(A1)");
    const known = new Set(columns.split(','));
    for (const field of Object.keys(listed[0] ?? {})) expect(known).toContain(field);
    expect((await kit.run('customers', 'list', '--name', 'list')).stdout).toMatch(/^ID +NAME +PLAN +MINUTE/);
  });

  test.each([
    [['customers', 'list', '--plan', 'fre'], 'there is no plan named "fre"; did you mean "free"?'],
    [['customers', 'show', 'key_1'], 'It is not the id of a customer'],
    [['customers', 'show', 'cus_nobody'], 'there is no customer with the id "cus_nobody"'],
    [['customers', 'create', '--name', 'x'], '--plan'],
    [['customers', 'create', '--name', 'x', '--plan', 'enterprise'], 'needs limits of its own'],
    [['keys', 'issue', '--customer', 'cus_nobody'], 'there is no customer with the id "cus_nobody"'],
  ])('%j is refused, and changes nothing', async (args, message) => {
    const before = await kit.redis.zcard(redisKeys.customers);
    const refused = await kit.run(...args);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(message);
    expect(await kit.redis.zcard(redisKeys.customers)).toBe(before);
  });

  test('an export brings customers with all their keys to another Redis, and old exports become customers of one key', async () => {
    const first = await issue('--plan', 'free', '--name', 'Moved', '--day', '50');
    const second = await issue('--customer', first.customerId, '--name', 'Moved mobile');
    await kit.json(
      'customers',
      'set',
      first.customerId,
      '--reference',
      'C-9',
      '--contact',
      'ops@example.com',
    );
    const lines = (await kit.run('keys', 'export')).stdout
      .split('\n')
      .filter((line) => line.includes(first.customerId));
    expect(lines).toHaveLength(2);
    const old = {
      sha256: 'e'.repeat(64),
      id: 'key_old',
      name: 'Old',
      plan: 'free',
      hint: 'pets_0ld0…',
      createdAt: '2026-01-01T00:00:00.000Z',
      minute: 5,
      rev: 3,
    };
    const file = join(directory.path, 'moved.jsonl');
    await writeFile(file, [...lines, JSON.stringify(old)].join('\n'));
    await using other = await startRedisServer();
    const there = async (...args: string[]) => {
      const { code, stdout, stderr } = await runOps([...args, '--json'], { REDIS_URL: other.url });
      expect({ code, stderr }).toMatchObject({ code: 0 });
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    await other.redis.hset(redisKeys.plan('free'), { minute: 60, day: 1000 });
    expect(await there('keys', 'import', file)).toMatchObject({ added: 3 });
    expect(await there('keys', 'import', file)).toMatchObject({ added: 0, unchanged: 3 });
    expect(await there('customers', 'show', first.customerId)).toMatchObject({
      name: 'Moved',
      day: 50,
      reference: 'C-9',
      contact: 'ops@example.com',
      keys: 2,
      items: expect.arrayContaining([
        expect.objectContaining({ id: first.id }),
        expect.objectContaining({ id: second.id }),
      ]) as unknown,
    });
    expect(await there('customers', 'show', 'cus_old')).toMatchObject({ name: 'Old', minute: 5, keys: 1 });
  });

  test('keys that nobody uses are listed, and the one that was used longest ago comes first', async () => {
    const { id, key, customerId } = await issue('--plan', 'free', '--name', 'Unused test');
    const never = await issue('--customer', customerId, '--name', 'Unused test, never');
    expect(await status(key)).toBe(200);
    const list = async (...args: string[]) => {
      const { stdout } = await kit.run('keys', 'list', '--name', 'unused test', ...args, '--json');
      return (JSON.parse(stdout) as { id: string }[]).map((listed) => listed.id);
    };
    await expect.poll(() => list('--sort', 'last-used'), { timeout: 20_000 }).toEqual([never.id, id]);
    await expect.poll(() => list('--unused-since', '1h'), { timeout: 20_000 }).toEqual([never.id]);
    expect((await kit.run('keys', 'list', '--name', 'unused test', '--sort', 'last-used')).stdout).toMatch(
      /^ID .* LAST USED\n/,
    );
    expect((await kit.run('keys', 'show', id)).stdout).toMatch(/^lastUsedAt.*Z$/m);
  });
});
