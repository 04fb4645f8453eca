import { describe, expect, test } from 'vitest';
import type { ApiScope } from '../../gateway/control/access/api-scopes.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { webhookSettings } from '../support/kits/events-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { isSignedBy, startReceiver, type Received } from '../support/webhooks/receiver.ts';

interface Made {
  id: string;
  secret: string;
  eventId: string;
  customerId: string | null;
  url: string;
  items: { id: string; eventId: string; outcome: string; secret?: string }[];
}

describe('the API of webhooks', () => {
  const receiver = shared(startReceiver);
  const started = shared(() => startConsoleApi(webhookSettings));
  const operator = shared(() => started.signIn());

  async function call(method: string, path: string, body?: unknown, status = 200): Promise<Made> {
    const response = await operator.send(method, path, body);
    expect(response, JSON.stringify(response.body)).toMatchObject({ status });
    return response.body as Made;
  }

  test('a program needs the scopes to read what its webhook is sent', async () => {
    const wanted = { url: `${receiver.url}/hook`, types: ['key.created', 'ban.began'] };
    const send = async (scopes: ApiScope[], method: string, path: string, body: object) => {
      const program = await started.issueToken(['webhooks:write', ...scopes]);
      return program.send(method, `/api/webhooks${path}`, body);
    };
    const refused = (missing: string) => ({
      status: 403,
      body: { message: expect.stringContaining(missing) },
    });
    expect(await send(['keys:read'], 'POST', '', wanted)).toMatchObject(refused('the scope bans:read.'));
    expect(await send(['keys:read'], 'POST', '', { url: wanted.url })).toMatchObject(
      refused('the scope usage:read and bans:read and customers:read.'),
    );
    const made = await send(['keys:write', 'bans:read'], 'POST', '', wanted);
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    const { id } = made.body as Made;
    const elsewhere = { url: `${receiver.url}/other` };
    expect(await send([], 'PATCH', `/${id}`, elsewhere)).toMatchObject(refused('keys:read'));
    expect(await send(['keys:read', 'bans:read'], 'PATCH', `/${id}`, { types: null })).toMatchObject(
      refused('usage:read'),
    );
    expect((await send(['keys:read', 'bans:read'], 'PATCH', `/${id}`, elsewhere)).status).toBe(200);
    await call('DELETE', `/api/webhooks/${id}`);
  });

  test('adds, tests, changes and removes the webhook of a customer, each audited', async () => {
    const { customerId } = await started.issue();
    const wanted = { url: `${receiver.url}/hook`, types: ['key.created'], customerId };
    const { id, secret } = await call('POST', '/api/webhooks', wanted, 201);
    const { items } = await call('GET', '/api/webhooks');
    expect(items).toMatchObject([{ id, state: 'on', customerId }]);
    expect(items[0]?.secret).toBeUndefined();
    const { eventId } = await call('POST', `/api/webhooks/${id}/test`);
    await expect.poll(() => receiver.at('/hook').length, { timeout: 10_000 }).toBe(1);
    expect(isSignedBy(secret, receiver.at('/hook')[0] as Received)).toBe(true);
    await expect
      .poll(async () => (await call('GET', `/api/webhooks/${id}/deliveries`)).items)
      .toMatchObject([{ eventId, outcome: 'delivered' }]);
    expect(await call('PATCH', `/api/webhooks/${id}`, { enabled: false })).toMatchObject({ state: 'off' });
    expect(await call('PATCH', `/api/webhooks/${id}`, { enabled: true, types: null })).toMatchObject({
      state: 'on',
      types: null,
    });
    await call('PATCH', `/api/webhooks/${id}`, { url: `${receiver.url}/other` });
    await call('DELETE', `/api/webhooks/${id}`);
    expect((await call('GET', '/api/webhooks')).items).toEqual([]);
    const audit = await call('GET', `/api/audit?target=${id}`);
    const entries = audit.items as unknown as { action: string; changes: { field: string }[] }[];
    expect(entries.map(({ action }) => action)).toEqual([
      'webhooks.remove',
      'webhooks.set',
      'webhooks.set',
      'webhooks.set',
      'webhooks.add',
    ]);
    // The path may be secret, but that it is another one is seen.
    expect(entries[1]?.changes.map(({ field }) => field)).toEqual(['url']);
    expect(JSON.stringify(entries)).not.toMatch(/\/hook|\/other/);
  });

  test.each([
    ['a host that is not public', { url: 'https://10.0.0.1/' }, 422],
    ['a public host without TLS', { url: 'http://93.184.215.14/' }, 422],
    ['an unknown type', { url: 'https://example.com/', types: ['nothing'] }, 400],
    ['no types', { url: 'https://example.com/', types: [] }, 400],
    ['an unknown customer', { url: 'https://example.com/', customerId: 'cus_none' }, 404],
    ['no address', {}, 400],
    ['a field that there is not', { url: 'https://example.com/', secret: 'whsec_mine' }, 400],
  ])('refuses %s, and changes nothing', async (_what, body, status) => {
    await call('POST', '/api/webhooks', body, status);
    expect((await call('GET', '/api/webhooks')).items).toEqual([]);
  });
});
