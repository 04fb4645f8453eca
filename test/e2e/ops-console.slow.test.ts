import { describe, expect, test } from 'vitest';
import { findConsoleOrigins } from '../../gateway/control/access/console-codes.ts';
import { signInWith } from '../support/kits/console-kit.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { runOps, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startAnyRedis } from '../support/stores/redis-server.ts';

interface Link {
  link: string;
  otherConsoles: string[];
  name: string;
  role: string;
  expiresAt: string;
  session: string;
}

const kit = shared(startOpsKit);

async function consolesToBe(count: number): Promise<void> {
  await expect.poll(() => findConsoleOrigins({ redis: kit.redis, now: Date.now }, '')).toHaveLength(count);
}
const codeOf = (link: string) => link.split('#code=')[1] ?? '';
const makeLink = (...args: string[]) => kit.json<Link>('console', ...args);

describe('ops console', () => {
  test('prints a link to the running gateway, whatever its port, that begins one session, of the person whom --for names', async () => {
    await consolesToBe(1);
    const made = await makeLink('--as', 'Ada', '--for', 'Grace', '--viewer');
    const { port } = new URL(kit.gateway.adminUrl);
    expect(made).toMatchObject({
      link: expect.stringMatching(`^http://localhost:${port}/console#code=[\\w-]{22}$`) as string,
      otherConsoles: [],
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

  test('names the other consoles if several gateways run, and the link works at each of them', async () => {
    await using other = await startGateway({ ...kit.env });
    await consolesToBe(2);
    const { stderr } = await kit.run('console');
    expect(stderr).toMatch(
      /^ops: several consoles are running, and the link works at each of them, once: http:\/\/localhost:\d+\/console\n$/,
    );
    const { link, otherConsoles } = await makeLink();
    const ports = [link, ...otherConsoles].map((text) => new URL(text).port);
    expect(ports.toSorted((one, other) => Number(one) - Number(other))).toEqual(
      [kit.gateway.adminUrl, other.adminUrl]
        .map((text) => new URL(text).port)
        .toSorted((one, other) => Number(one) - Number(other)),
    );
    const api = await signInWith(other.adminUrl, codeOf(link));
    expect((await api.send('GET', '/api/session')).status).toBe(200);
    await other.stop();
    await consolesToBe(1);
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
