import { describe, expect, test } from 'vitest';
import type { CustomerDetail, CustomerView } from '../../gateway/control/customers/find-customers.ts';
import { type CustomerId } from '../../gateway/platform/redis/redis-keys.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';

interface Issued {
  id: string;
  key: string;
  customerId: CustomerId;
}

describe('ops customers', { timeout: 120_000 }, () => {
  const kit = shared(startOpsKit);

  const issue = (...args: string[]) => kit.json<Issued>('keys', 'issue', ...args);
  const status = async (key: string) => (await kit.pets(key)).status;

  test('a key is issued with a customer in one step, and further keys share its limits', async () => {
    const first = await issue('--plan', 'free', '--name', 'Acme', '--day', '3');
    const second = await issue('--customer', first.customerId, '--name', 'Acme mobile');
    expect(second).toMatchObject({ customerId: first.customerId, name: 'Acme mobile', plan: 'free' });
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
    expect(stdout).toMatch(/^day +3 of 3 used, 0 remaining, resets at .+T00:00:00\.000Z$/m);
    const refused = await kit.run('keys', 'issue', '--customer', first.customerId, '--plan', 'pro');
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain('plan and limits are those of the customer');
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
    const limited = await kit.json<CustomerView>(
      'customers',
      'create',
      '--plan',
      'free',
      '--name',
      'List Three',
      '--hour',
      '7',
    );
    const own = await kit.json('customers', 'list', '--name', 'list', '--with-own-limits');
    expect(own).toMatchObject([{ id: limited.id, hour: 7 }]);
    const csv = (await kit.run('customers', 'list', '--name', 'list', '--plan', 'pro', '--output', 'csv'))
      .stdout;
    const [columns = '', row = ''] = csv.split('\n');
    expect(row).toContain("'=SUM(A1)");
    const known = new Set(columns.split(','));
    for (const field of Object.keys(listed[0] ?? {})) expect(known).toContain(field);
    expect((await kit.run('customers', 'list', '--name', 'list')).stdout).toMatch(/^ID +NAME +PLAN +MINUTE/);
  });
});
