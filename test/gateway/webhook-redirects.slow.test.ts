import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readWebhookDeliveries, testWebhook } from '../../gateway/operations/webhooks.ts';
import { startEventsKit, type EventsKit } from '../support/kits/events-kit.ts';
import { idOf, isSignedBy } from '../support/webhooks/receiver.ts';

describe('a gateway that follows redirects of webhooks', () => {
  let kit: EventsKit;
  beforeAll(async () => {
    kit = await startEventsKit({ WEBHOOK_FOLLOW_REDIRECTS: 'true' });
  });
  afterAll(() => kit[Symbol.asyncDispose]());

  /** Sends a test to a path. @returns the first attempt, and what the receiver has got of the event in it */
  async function attempt(path: string) {
    const { customerId } = await kit.issue();
    const { id, secret } = await kit.webhook(customerId, path);
    const eventId = await testWebhook(kit.session, customerId, id);
    const first = async () =>
      (await readWebhookDeliveries(kit.session, customerId, id)).find(
        (each) => each.eventId === eventId && each.attempt === 1,
      );
    await expect.poll(first, { timeout: 20_000 }).toBeDefined();
    const got = kit.receiver.received.filter((each) => idOf(each) === eventId);
    const [{ headers } = { headers: {} as Record<string, string> }] = got;
    // A further attempt has a signature of its own.
    const received = got.filter((each) => each.headers['webhook-signature'] === headers['webhook-signature']);
    return { ...(await first()), received, secret };
  }

  const redirect = (status: number, target: string) => `/redirect/${status}/${encodeURIComponent(target)}`;
  const local = (host: string, path: string) => `http://${host}:${new URL(kit.receiver.url).port}${path}`;

  test.each([307, 308])('sends the same body and signature on, with %i', async (status) => {
    const { received, secret, ...sent } = await attempt(redirect(status, '/moved'));
    expect(sent).toMatchObject({ outcome: 'delivered', status: 200, error: null });
    const [first, moved] = received;
    expect(received.map(({ url }) => url)).toEqual([redirect(status, '/moved'), '/moved']);
    expect(moved).toEqual({ ...first, url: '/moved' });
    expect(moved !== undefined && isSignedBy(secret, moved)).toBe(true);
  });

  test('resolves and checks a new name', async () => {
    const path = redirect(307, local('localhost', redirect(308, '/renamed')));
    const { received, ...sent } = await attempt(path);
    expect(sent).toMatchObject({ outcome: 'delivered', status: 200 });
    expect(received.map(({ url }) => url)).toEqual([path, redirect(308, '/renamed'), '/renamed']);
  });

  test.each([
    ['another address of this machine', () => local('127.0.0.2', '/moved')],
    ['an address in another form', () => local('[::ffff:127.0.0.2]', '/moved')],
    ['the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'],
  ])('refuses %s', async (_name, target) => {
    const { received, ...sent } = await attempt(redirect(307, target()));
    expect(sent).toMatchObject({ outcome: 'failed', status: 307 });
    expect(sent.error).toContain('is not public');
    expect(received).toHaveLength(1);
  });

  test.each([301, 302, 303])('refuses %i, which would make it a GET', async (status) => {
    const { received, ...sent } = await attempt(redirect(status, '/moved'));
    expect(sent).toMatchObject({ outcome: 'failed', status });
    expect(sent.error).toContain('use 307 or 308');
    expect(received).toHaveLength(1);
  });

  test('says in words why TLS fails', async () => {
    const { received, ...sent } = await attempt(
      redirect(307, local('127.0.0.1', '/moved').replace('http', 'https')),
    );
    expect(sent).toMatchObject({ outcome: 'failed', status: null, error: 'TLS fails: wrong version number' });
    expect(received).toHaveLength(1);
  });

  test('ends a loop after three redirects', async () => {
    const { received, ...sent } = await attempt('/loop');
    expect(sent).toMatchObject({ outcome: 'failed', status: 308, error: 'more than 3 redirects' });
    expect(received).toHaveLength(4);
  });
});
