import { describe, expect, test } from 'vitest';
import { findConsoleOrigin } from '../../gateway/control/access/console-sessions.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { signInWith } from '../support/kits/console-api-kit.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { runOps, startGateway } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { startAnyRedis, startRedisServer } from '../support/stores/redis-server.ts';
import { startRelay } from '../support/upstreams/relay.ts';

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

describe('operating a running gateway', () => {
  test('top adds up the keys of each customer', async () => {
    const first = await kit.issue({ plan: 'pro', minute: 8, name: 'Two keys' });
    const second = await kit.json<{ key: string }>('keys', 'issue', '--customer', first.customerId);
    const single = await kit.issue({ plan: 'pro', name: 'One key' });
    // Each key of the first customer has fewer requests than the key of the second one.
    for (let index = 0; index < 6; index += 1) {
      await kit.pets(first.key);
      await kit.pets(second.key);
    }
    for (let index = 0; index < 7; index += 1) await kit.pets(single.key);
    const top = (...args: string[]) => kit.json<{ id: string; requests: number }[]>('top', ...args);
    const ofTest = async () =>
      (await top()).filter(({ id }) => [first.customerId, single.customerId].some((own) => own === id));
    await expect
      .poll(async () => (await ofTest()).map(({ requests }) => requests), { timeout: 8000 })
      .toEqual([12, 7]);
    const [busiest, other] = await ofTest();
    expect(busiest).toEqual({
      id: first.customerId,
      name: 'Two keys',
      plan: 'pro',
      requests: 12,
      refused: 4,
      minute: expect.objectContaining({ limit: 8 }) as object,
      day: expect.objectContaining({ used: 8, limit: 10_000 }) as object,
      state: 'active',
    });
    expect(other).toMatchObject({ id: single.customerId, refused: 0, state: 'active' });
    await kit.json('customers', 'suspend', single.customerId);
    expect((await ofTest()).at(-1)).toMatchObject({ id: single.customerId, state: 'suspended' });
    expect(await top('--count', '1')).toHaveLength(1);

    const { stdout: table } = await kit.run('top');
    expect(table).toMatch(/^ID +NAME +PLAN +REQUESTS\/MIN +REFUSED +MINUTE +HOUR +DAY +MONTH +STATE\ncus_/);
    expect(table).toMatch(
      new RegExp(String.raw`^${first.customerId} +Two keys +pro +12 +4 +\d+/8 +- +8/10000 +- +active$`, 'm'),
    );
    const { stdout: csv } = await kit.run('top', '--output', 'csv');
    expect(csv).toMatch(
      new RegExp(
        String.raw`^id,name,plan,requests,refused,state\n(?:cus_.*\n)*${first.customerId},Two keys,pro,12,4,active\n`,
      ),
    );
  });

  test('the audit log is printed without control sequences for terminals', async () => {
    await kit.redis.xadd(redisKeys.audit, '*', 'who', '\u{1B}[2Jevil', 'action', 'x', 'target', 'y');
    expect((await kit.run('audit', '--count', '1')).stdout).not.toContain('\u{1B}');
  });
});

describe(
  'a change is confirmed on disk before the command succeeds, and printed in any case',
  { tags: ['redis-server'] },
  () => {
    test.each([
      {
        name: 'a server that never confirms',
        replies: ['*2\r\n:0\r\n:0\r\n'],
        code: 3,
        stderr:
          /^ops: warning: the change of key_\w+ was made, but Redis did not confirm that it is on disk\n$/,
      },
      {
        name: 'a server that becomes unavailable before it confirms',
        replies: [],
        code: 3,
        stderr:
          /^ops: warning: the change of key_\w+ was made, but Redis did not confirm it: it became unavailable\n$/,
      },
      {
        name: 'a server without an append-only file',
        replies: ['-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n'],
        code: 0,
        stderr: /^ops: warning: this Redis has no append-only file, so a restart loses the change\n$/,
      },
      {
        name: 'a user that may not run WAITAOF',
        replies: ["-NOPERM User ops has no permissions to run the 'waitaof' command\r\n"],
        code: 3,
        stderr:
          /^ops: warning: the change of key_\w+ was made, but Redis did not confirm it: NOPERM User ops has no permissions to run the 'waitaof' command\n$/,
      },
    ])('$name', async ({ replies, code, stderr }) => {
      await using server = await startRedisServer();
      const commands: string[] = [];
      await using relay = await startWaitAofRelay(server.port, (command) => {
        commands.push(command);
        return replies[Math.min(commands.length, replies.length) - 1];
      });
      const result = await runOps(['keys', 'issue', '--plan', 'free', '--name', 'Durable', '--json'], {
        REDIS_URL: `redis://127.0.0.1:${relay.port}`,
      });
      expect(result.code).toBe(code);
      expect(result.stderr).toMatch(stderr);
      expect(commands.length).toBeGreaterThanOrEqual(1);
      expect(commands[0]).toMatch(/^\*4\r\n\$7\r\nWAITAOF\r\n\$1\r\n1\r\n\$1\r\n0\r\n/);
      const issued = JSON.parse(result.stdout) as { key: string; warning?: string };
      expect(issued.key).toMatch(/^pets_\w{38}$/);
      expect(issued.warning).toBe(/^ops: warning: (.*)\n$/.exec(result.stderr)?.[1]);
    });
  },
);

/**
 * Starts a relay to a redis-server that replies to WAITAOF itself and passes everything else on. The redis-server of
 * Debian 12 does not have the command. Without a reply, it ends.
 */
async function startWaitAofRelay(port: number, replyTo: (command: string) => string | undefined) {
  const relay = await startRelay(
    () => port,
    (client, target) => {
      client.on('data', (chunk) => {
        const text = chunk.toString('latin1');
        if (!/\r\nWAITAOF\r\n/i.test(text)) return void target.write(chunk);
        const reply = replyTo(text.toUpperCase());
        if (reply === undefined) return void relay[Symbol.asyncDispose]();
        client.write(reply);
      });
      target.pipe(client);
    },
  );
  return relay;
}
