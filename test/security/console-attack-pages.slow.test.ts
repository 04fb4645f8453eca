import { createServer } from 'node:http';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { listening } from '../support/http/listening.ts';
import { startConsole } from '../support/kits/console-kit.ts';
import { shared } from '../support/kits/shared.ts';

/*
 * Pages of another server, opened in the browser of a person who is signed in to the console. On another port of the
 * same host: for cookies that is the same site, so that the browser sends the session's cookie.
 */
describe('a page of another server', { tags: ['chromium'] }, () => {
  /** Requests that reached the attacker. */
  const received: string[] = [];

  const kit = shared(startConsole);
  const attacker = shared(() =>
    listening(
      createServer((req, res) => {
        received.push(`${req.url} ${JSON.stringify(req.headers)}`);
        res.setHeader('Content-Type', 'text/html');
        res.end('<!doctype html><title>Attack</title><body></body>');
      }),
    ),
  );
  const addressOn = (host: string) => attacker.url.replace('127.0.0.1', host);

  /** Opens the attack in the browser of an operator. @param host of the attacker */
  async function openAttack(host: string): Promise<{ page: Page; complaints: string[] }> {
    const victim = await kit.open('/console/plans');
    const complaints: string[] = [];
    const page = await victim.page.context().newPage();
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(addressOn(host));
    return { page, complaints };
  }

  const hosts = ['localhost', '127.0.0.1'];
  const audited = () => kit.redis.xlen(redisKeys.audit);
  const sessions = () => kit.redis.hlen(redisKeys.consoleSessions);

  test.each(hosts)('on %s cannot show the console in a frame', async (host) => {
    const { page, complaints } = await openAttack(host);
    await page.evaluate(`new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.onload = resolve;
      frame.src = '${kit.origin}/console';
      document.body.append(frame);
    })`);
    await expect.poll(() => complaints.join()).toContain('frame-ancestors');
    expect(page.frames().map((frame) => frame.url())).not.toContain(`${kit.origin}/console`);
    await page.evaluate(`document.querySelector('iframe').src = '${kit.origin}/api/session'`);
    await expect.poll(() => complaints.filter((text) => text.includes('frame-ancestors')).length).toBe(2);
  });

  test.each(hosts)('on %s cannot read the API', async (host) => {
    const { page } = await openAttack(host);
    for (const path of ['/api/session', '/api/plans', '/api/live', '/metrics']) {
      const outcome = await page.evaluate(`fetch('${kit.origin}${path}', { credentials: 'include' }).then(
        (response) => response.text(),
        (error) => 'refused: ' + error.message,
      )`);
      expect({ path, outcome }).toEqual({ path, outcome: 'refused: Failed to fetch' });
    }
  });

  test.each(hosts)('on %s cannot change anything, by fetch or by a form', async (host) => {
    const { page } = await openAttack(host);
    const before = { audited: await audited(), sessions: await sessions() };
    for (const [method, path] of [
      ['POST', '/api/keys'],
      ['PATCH', '/api/plans/free'],
      ['DELETE', '/api/session'],
      ['POST', '/api/session'],
    ]) {
      for (const options of [
        `{ mode: 'no-cors', headers: { 'Content-Type': 'text/plain' } }`,
        `{ headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': 'x' } }`,
      ]) {
        await page.evaluate(`fetch('${kit.origin}${path}', {
          method: '${method}', credentials: 'include', body: '{"name":"x","plan":"free"}', ...${options}
        }).catch(() => {})`);
      }
    }
    await page.evaluate(`document.body.innerHTML =
      '<form method="post" enctype="text/plain" action="${kit.origin}/api/keys"><input name=\\'{"name":"x","plan":"free","y":"\\' value=\\'"}\\'></form>'`);
    const [response] = await Promise.all([
      page.waitForResponse((sent) => sent.url().includes('/api/keys')),
      page.evaluate(`document.forms[0].submit()`),
    ]);
    expect(response.status()).toBe(403);
    expect({ audited: await audited(), sessions: await sessions() }).toEqual(before);
  });

  test.each(hosts)(
    'on %s learns neither the address nor the code of the page that led to it',
    async (host) => {
      const { page } = await kit.open('/console/plans');
      received.length = 0;
      // Not at once, or the navigation may destroy the context in which this runs.
      await page.evaluate(`void setTimeout(() => location.assign('${addressOn(host)}/from-console'))`);
      await expect.poll(() => received.some((text) => text.startsWith('/from-console'))).toBe(true);
      const sent = received.find((text) => text.startsWith('/from-console')) ?? '';
      expect(sent).not.toMatch(/referer|#code/i);
    },
  );

  test('a name that resolves to this machine gets neither the console nor the API', async () => {
    const { page } = await kit.open('/console/plans');
    const { port } = new URL(kit.origin);
    // The browser resolves every name below localhost to loopback, as a rebinding name would.
    for (const path of ['/console', '/api/session']) {
      const response = await page.goto(`http://rebinding.localhost:${port}${path}`);
      expect(response?.status()).toBe(421);
    }
    // Such a page may not even ask.
    await expect(page.evaluate(`fetch('/api/session')`)).rejects.toThrow('Failed to fetch');
  });
});
