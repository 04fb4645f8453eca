import { describe, expect, test } from 'vitest';
import { findConsoleOrigin } from '../../gateway/control/access/console-sessions.ts';
import { signInWith } from '../support/kits/console-api-kit.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { runOps, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

interface Link {
  link: string;
  name: string;
  role: string;
  expiresAt: string;
  session: string;
}

const kit = shared(startOpsKit);

const codeOf = (link: string) => link.split('#code=')[1] ?? '';
const makeLink = (...args: string[]) => kit.json<Link>('console', ...args);

describe('ops console', () => {
  test('prints a link to the running gateway, whatever its port, that begins one session, of the person whom --for names', async () => {
    await expect.poll(() => findConsoleOrigin({ redis: kit.redis, now: Date.now }, '')).toMatch(/^http:/);
    const made = await makeLink('--as', 'Ada', '--for', 'Grace', '--viewer');
    const { port } = new URL(kit.gateway.adminUrl);
    expect(made).toMatchObject({
      link: expect.stringMatching(`^http://localhost:${port}/console#code=[\\w-]{22}$`) as string,
      name: 'Grace',
      role: 'viewer',
    });
    const api = await signInWith(kit.gateway.adminUrl, codeOf(made.link));
    const { body } = await api.send('GET', '/api/session');
    expect(body).toMatchObject({ name: 'Grace', role: 'viewer' });
    const entries = await kit.json<object[]>('audit', '--target', made.session);
    expect(entries).toMatchObject([
      { who: 'Ada', action: 'console.link', after: { name: 'Grace', role: 'viewer' } },
      { who: 'Grace', action: 'console.sign_in' },
    ]);
    expect(JSON.stringify(entries)).not.toContain(codeOf(made.link));
  });

  test('prints a link to one of several gateways, which works at each of them', async () => {
    await using other = await startGateway({ ...kit.env });
    const { link } = await makeLink();
    expect([kit.gateway.adminUrl, other.adminUrl].map((text) => new URL(text).port)).toContain(
      new URL(link).port,
    );
    const api = await signInWith(other.adminUrl, codeOf(link));
    expect((await api.send('GET', '/api/session')).status).toBe(200);
  });

  test('says so if no gateway has announced its console', async () => {
    await using elsewhere = await startAnyRedis();
    const { code, stdout, stderr } = await runOps(['console'], { REDIS_URL: elsewhere.url });
    expect(code).toBe(0);
    expect(stderr).toContain(
      'no running gateway has announced its console, so the address is a guess: http://localhost:9090',
    );
    expect(stdout).toContain('http://localhost:9090/console#code=');
  });
});
