import { describe, expect, test } from 'vitest';
import { createAuditLog } from '../../gateway/platform/redis/record-change.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { shared } from '../support/kits/shared.ts';

interface Page {
  items: { id: string; at: string; who: string; action: string; target: string; changes: unknown[] }[];
  next: string | null;
}

describe('the API of the audit log', () => {
  const started = shared(startConsoleApi);
  const ada = shared(() => started.signIn());

  const get = async (query: string) => (await ada.send('GET', `/api/audit?${query}`)).body as Page;
  const record = (who: string, action: string, target: string, before: unknown, after: unknown) =>
    createAuditLog({ redis: started.redis, who })({ action, target, before, after });
  const targets = ({ items }: Page) => items.map(({ target }) => target);

  test('shows what has changed field by field, newest first', async () => {
    await record('Ada', 'plans.set', 'first', { minute: 1, day: 5, rev: 1 }, { minute: 2, day: 5, rev: 2 });
    await record('Grace', 'plans.set', 'second', null, { minute: 2 });
    const page = await get('limit=2');
    expect(targets(page)).toEqual(['second', 'first']);
    expect(page.items[1]?.changes).toEqual([{ field: 'minute', before: 1, after: 2 }]);
    expect(page.items[0]).toMatchObject({
      who: 'Grace',
      at: expect.stringMatching(/Z$/) as unknown,
      changes: [{ field: 'minute', before: null, after: 2 }],
    });
  });

  test('filters by action, person, target and time', async () => {
    await record('ada', 'keys.set', 'key_1', { name: 'a' }, { name: 'b' });
    expect(targets(await get('action=keys'))).toEqual(['key_1']);
    expect(targets(await get('who=ADA&limit=2'))).toEqual(['key_1', 'first']);
    expect(targets(await get('target=second'))).toEqual(['second']);
    await record('billing (token_09c3819fc89b)', 'keys.set', 'key_2', { name: 'a' }, { name: 'b' });
    for (const who of ['Billing', 'token_09c3819fc89b', 'billing (token_09c3819fc89b)'])
      expect(targets(await get(`who=${encodeURIComponent(who)}`))).toEqual(['key_2']);
    const [newest] = (await get('limit=1')).items;
    const at = newest?.at ?? '';
    expect(targets(await get(`since=${at}&action=keys`))).toEqual(['key_2']);
    expect(targets(await get(`until=${at}&action=keys`))).toEqual(['key_1']);
  });

  test('goes on with the next page, and ends', async () => {
    const pages: string[][] = [];
    for (let next: string | null = ''; next !== null;) {
      const page = await get(`action=plans.set&limit=1${next === '' ? '' : `&after=${next}`}`);
      pages.push(targets(page));
      ({ next } = page);
    }
    expect(pages.flat()).toEqual(['second', 'first']);
  });

  // The embedded Redis needs seconds for so many entries.
  const onServer = { tags: ['redis-server'] };
  test('a search that matches nothing ends each page after some thousand entries', onServer, async () => {
    const { redis } = started;
    const pipeline = redis.pipeline();
    for (let index = 0; index < 6000; index += 1) {
      pipeline.xadd(redisKeys.audit, '*', 'who', 'x', 'action', 'keys.issue', 'target', 'y');
    }
    await pipeline.exec();
    const first = await get('who=Grace');
    expect(first.items).toEqual([]);
    expect(first.next).not.toBeNull();
    const second = await get(`who=Grace&after=${first.next}`);
    expect(targets(second)).toEqual(['second']);
    expect(second.next).toBeNull();
  });

  test.each(
    (
      'limit=0 since=yesterday since=2026-02-02T00:00:00Z&until=2026-02-01T00:00:00Z after=x ' +
      'after=0-0 after=00-0 newerThan=1-1 who= order=up who=a&who=b'
    ).split(' '),
  )('refuses ?%s', async (query) => {
    const { status, body } = await ada.send('GET', `/api/audit?${query}`);
    expect({ status, body }).toMatchObject({ status: 400, body: { code: 'bad_request' } });
  });

  test('has the reason of a change and the name of the key, and refuses a reason that is none', async () => {
    const { id, key, customerId } = await started.issue({ name: 'Reasoned Ltd' });
    await ada.send('POST', `/api/customers/${customerId}/suspend`);
    const ofCustomer = await ada.send('GET', `/api/audit?target=${customerId}&action=customers`);
    expect((ofCustomer.body as { items: unknown[] }).items[0]).toMatchObject({
      action: 'customers.suspend',
      verb: 'suspended',
      targetName: 'Reasoned Ltd',
    });
    await ada.send('POST', `/api/customers/${customerId}/resume`);
    const change = (reason: string) =>
      ada.send('POST', `/api/keys/${id}/revoke`, {}, { 'X-Change-Reason': reason });
    for (const reason of ['%', encodeURIComponent('x'.repeat(101)), key]) {
      expect((await change(reason)).status).toBe(400);
    }
    expect((await change(encodeURIComponent('INC-42: Ä'))).status).toBe(200);
    const { body } = await ada.send('GET', `/api/audit?target=${id}`);
    expect(body).toMatchObject({
      items: [
        {
          action: 'keys.revoke',
          reason: 'INC-42: Ä',
          targetName: 'Reasoned Ltd',
          targetHint: `${key.slice(0, 9)}…`,
        },
        { action: 'keys.issue' },
      ],
    });
  });

  test('the entries of a customer include changes through its keys', async () => {
    const { id, customerId } = await started.issue();
    const { rev } = (await ada.send('GET', `/api/keys/${id}`)).body as { rev: number };
    expect(await ada.send('PATCH', `/api/keys/${id}`, { rev, name: 'Renamed' })).toMatchObject({
      status: 200,
    });
    expect((await get(`target=${customerId}`)).items).toMatchObject([
      { action: 'keys.set', target: id, changes: [{ field: 'name', after: 'Renamed' }] },
      { action: 'keys.issue', target: id },
    ]);
  });
});
