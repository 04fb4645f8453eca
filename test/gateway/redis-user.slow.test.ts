import { spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashSecret } from '../../gateway/operations/console-secret.ts';
import { aclCommands } from '../../gateway/operations/redis-acl.ts';
import {
  commandsOf,
  queueCommands,
  readerLinkCommand,
  type RedisUser,
} from '../../gateway/operations/redis-commands.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { signInWith } from '../support/kits/console-kit.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { signIn } from '../support/kits/live-kit.ts';
import { snapshot } from '../support/kits/ops-kit.ts';
import { logIn, readersAcl, redisAcl, usersVersion } from '../support/kits/redis-users.ts';
import { runOps, startGateway, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { readCommandUse, resetCommandUse } from '../support/stores/command-use.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

/** What this test and a replica send themselves, and what needs no permission. */
const unlisted = new Set([
  'acl|log',
  'acl|setuser',
  'auth',
  'config|resetstat',
  'hello',
  'psync',
  'replconf',
]);
const yesterday = () => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10).replaceAll('-', '');

describe('the Redis users of ops redis-acl', { tags: ['redis-server'], timeout: 180_000 }, () => {
  let stack: AsyncDisposableStack;
  let server: RedisServer;
  let upstream: Upstream;
  let redis: RedisClient;
  let directory: TemporaryDirectory;

  beforeAll(async () => {
    await using starting = new AsyncDisposableStack();
    server = starting.use(await startRedisServer());
    upstream = starting.use(await startUpstream());
    directory = starting.use(await temporaryDirectory());
    redis = await connectRedis(`${server.url}/2`);
    starting.defer(() => redis.disconnect());
    for (const rules of [...(await redisAcl()), ...(await readersAcl())])
      await server.redis.call('ACL', ...rules);
    stack = starting.move();
  });
  afterAll(() => stack.disposeAsync());

  // With a database, so that SELECT is sent, too.
  const urlOf = (role: RedisUser) => `${logIn(role, server.url)}/2`;
  const ops = (...args: string[]) => runOps(args, { REDIS_URL: urlOf('ops') });
  const issue = (wanted?: Parameters<ReturnType<typeof keyIssuer>['issue']>[0]) =>
    keyIssuer(redis).issue(wanted);
  /** What a role was denied and, since `resetCommandUse`, has sent. */
  async function commandUse(...ignored: string[]) {
    const used = (await readCommandUse(server.redis)).filter((command) => !ignored.includes(command));
    const denied = (await server.redis.acl('LOG')) as unknown[][];
    // `object` is the command that was denied.
    const names = denied.map((entry) => entry[entry.indexOf('object') + 1]);
    return { denied: names, used: used.filter((command) => !unlisted.has(command)) };
  }
  /** Nothing denied, and everything that a role may send, but for what BullMQ alone may. */
  async function expectExactly(role: RedisUser, more: { failed?: readonly unknown[] } = {}): Promise<void> {
    const ofQueue = (command: string) =>
      queueCommands.includes(command) && !commandsOf[role].includes(command);
    const { denied, used } = await commandUse();
    expect({ ...more, denied, used: used.filter((command) => !ofQueue(command)) }).toEqual({
      ...(more.failed === undefined ? {} : { failed: [] }),
      denied: [],
      used: aclCommands(role, 'server', usersVersion).filter((command) => !ofQueue(command)),
    });
  }

  async function startReplica() {
    const replica = await startRedisProcess(() => ['--replicaof', `127.0.0.1 ${server.port}`]);
    await expect.poll(() => server.redis.info('replication')).toContain('state=online');
    return replica;
  }

  /** Does in the console of a gateway what sends commands that no request needs. */
  async function useConsole(gateway: Service, id: string): Promise<void> {
    const api = await signIn(redis, gateway);
    const limits = { minute: 5, day: 50 };
    const steps: [method: string, path: string, body?: unknown][] = [
      ['GET', '/api/session'],
      ['GET', '/api/customers'],
      ['POST', '/api/customers', { name: 'new', plan: 'free' }],
      ['POST', '/api/webhooks', { url: 'https://webhooks.invalid/' }],
      ['GET', '/api/keys'],
      ['GET', '/api/keys?search=x&state=valid'],
      ['GET', `/api/keys/${id}`],
      ['GET', `/api/keys/${id}/usage?days=30`],
      ['GET', `/api/keys/${id}/refusals`],
      ['PUT', `/api/keys/${id}/ban`, { seconds: 60, reason: 'test' }],
      ['GET', '/api/bans'],
      ['GET', '/api/bans/scan'],
      ['DELETE', `/api/keys/${id}/ban`],
      ['POST', '/api/keys', { name: 'new', plan: 'free' }],
      ['POST', `/api/keys/${id}/rotate`, { graceSeconds: 0 }],
      ['POST', `/api/keys/${id}/revoke`, {}],
      ['GET', '/api/plans'],
      ['PUT', '/api/plans/gold', limits],
      ['GET', '/api/plans/gold'],
      ['POST', '/api/plans/gold/preview', limits],
      ['DELETE', '/api/plans/gold'],
      ['GET', '/api/audit?who=Ada'],
      ['GET', '/api/audit?newerThan=0-0'],
      ['GET', '/api/settings/ban-policy'],
      ['GET', '/api/settings/usage'],
      ['GET', '/api/live'],
      ['GET', '/api/traffic'],
      ['GET', '/api/usage/months'],
    ];
    for (const [method, path, body] of steps) {
      const { status, body: answer } = await api.send(method, path, body);
      expect({ method, path, status, answer: status < 300 ? 'fine' : answer }).toEqual({
        method,
        path,
        status: expect.toBeOneOf([200, 201, 204]),
        answer: 'fine',
      });
    }
    await api.send('DELETE', '/api/session');
  }

  test('the gateway is denied nothing that it does, and sends every command that it may send', async () => {
    // The gateway seeds what else it needs. The policy bans at once.
    await redis.hset(redisKeys.plan('free'), { minute: '60', day: '1000' });
    const keys = await Promise.all([issue({ minute: 2 }), issue({ minute: 2 }), issue()]);
    const [banned, , old] = keys;
    await redis.hset(redisKeys.banPolicy, {
      enabled: 'true',
      graceSeconds: '0',
      strikes: '1',
      strikesPerLimit: '0',
      windowSeconds: '60',
      banSeconds: '1',
      maxBanSeconds: '60',
      resetSeconds: '3600',
    });
    // A day with use before the record was kept.
    await redis.set(redisKeys.day(old.customerId, yesterday()), '7');
    await resetCommandUse(server.redis);

    await using gateway = await startGateway({ REDIS_URL: urlOf('gateway'), PETS_SERVICE_URL: upstream.url });
    const pets = async (key?: string, method = 'GET') =>
      (await send(`${gateway.url}/v1/pets`, { method, ...(key === undefined ? {} : { key }) })).status;
    for (const { key } of keys) expect(await pets(key)).toBe(200);
    expect([await pets(banned.key), await pets(banned.key), await pets(banned.key)]).toEqual([200, 429, 429]);
    expect((await send(`${gateway.url}/v1/usage?days=30`, { key: old.key })).status).toBe(200);
    expect([await pets(), await pets(undefined, 'OPTIONS')]).toEqual([401, 204]);
    // What a failure has cost is given back.
    const { response } = upstream;
    upstream.response = (_req, res) => res.destroy();
    expect(await pets(old.key, 'POST')).toBe(502);
    upstream.response = response;
    // Busy keys are reported every two seconds, traffic every five.
    await expect.poll(() => readCommandUse(server.redis)).toContain('zincrby');
    await expect.poll(() => readCommandUse(server.redis)).toContain('expireat');
    // A replica has to confirm what the console changes.
    await using _replica = await startReplica();
    await useConsole(gateway, old.id);
    // On a machine that has the gateway's settings, ops is the same Redis user.
    expect(
      await runOps(['keys', 'set', old.id, '--minute', '7'], { REDIS_URL: urlOf('gateway') }),
    ).toMatchObject({ code: 0 });
    await gateway.stop();
    expect(gateway.output()).not.toMatch(/"level":50|permission|INFO/);
    await expectExactly('gateway');
  });

  test.each(['gateway', 'ops'] as const)(
    '%s adds to the audit log, and cannot remove or replace it',
    async (role) => {
      const limited = await connectRedis(urlOf(role));
      const id = await limited.xadd(redisKeys.audit, '*', 'who', role);
      for (const command of [
        ['DEL', redisKeys.audit],
        ['SET', redisKeys.audit, 'x'],
        ['EXPIREAT', redisKeys.audit, '1'],
        ['EVAL', "return redis.call('DEL', KEYS[1])", '1', redisKeys.audit],
        ['EVAL', "return redis.call('DEL', 'gw:audit')", '0'],
      ]) {
        const [name = '', ...args] = command;
        await expect(limited.call(name, ...args)).rejects.toThrow(
          /NOPERM|ACL failure|permissions|The user executing the script/i,
        );
      }
      expect((await limited.xrevrange(redisKeys.audit, '+', '-', 'COUNT', 1))[0]?.[0]).toBe(id);
      limited.disconnect();
      await server.redis.acl('LOG', 'RESET');
    },
  );

  test('the ops command is denied nothing that it does, and sends every command that it may send', async () => {
    // Nothing is set yet, as before the first gateway runs; a replica has to confirm the changes.
    await redis.flushdb();
    // Scripts that are not in Redis' cache are sent with EVAL.
    await server.redis.script('FLUSH');
    await redis.hset(redisKeys.plan('free'), { minute: '60', day: '1000' });
    await using _replica = await startReplica();
    const { id, customerId } = await issue();
    const file = join(directory.path, 'keys.jsonl');
    const plans = join(directory.path, 'plans.yaml');
    const commands = [
      ['keys', 'issue', '--plan', 'free', '--name', 'New'],
      ['customers', 'create', '--plan', 'free', '--name', 'Newer'],
      ['customers', 'list'],
      ['customers', 'show', customerId],
      ['customers', 'set', customerId, '--notes', 'calls on Mondays'],
      ['customers', 'suspend', customerId],
      ['customers', 'resume', customerId],
      ['keys', 'issue', '--customer', customerId],
      ['keys', 'list'],
      ['keys', 'show', id],
      ['keys', 'find', 'New'],
      ['keys', 'set', id, '--minute', '5', '--expires', '2099-01-01'],
      ['keys', 'set', id, '--expires', 'never'],
      ['keys', 'rotate', id],
      ['keys', 'revoke', '--yes', id],
      ['keys', 'export'],
      ['keys', 'import', file],
      ['usage', id],
      ['usage', id, '--days', '30'],
      ['usage', 'export', '--from', '2026-11-01'],
      ['usage', 'retention', '--days', '500'],
      ['top'],
      ['bans', 'add', id, '--for', '1h', '--reason', 'flood'],
      ['bans', 'list'],
      ['bans', 'lift', id],
      ['plans', 'list'],
      ['plans', 'set', 'gold', '--create', '--minute', '5', '--day', '50'],
      ['plans', 'export', plans],
      ['plans', 'diff', plans],
      ['plans', 'remove', 'gold', '--yes'],
      ['plans', 'apply', plans],
      ['policy', 'set', '--ban-seconds', '30'],
      ['policy', 'reset'],
      ['policy', 'show'],
      ['audit'],
      ['audit', '--since', '1h'],
    ];
    await server.redis.acl('LOG', 'RESET');
    await resetCommandUse(server.redis);
    await writeFile(file, (await ops('keys', 'export')).stdout);
    const following = spawn(process.execPath, ['gateway/ops/main.ts', 'audit', '--follow'], {
      env: { ...process.env, REDIS_URL: urlOf('ops') },
      stdio: 'ignore',
    });
    await expect.poll(() => readCommandUse(server.redis)).toContain('xread');
    following.kill();
    const failed: unknown[] = [];
    for (const args of commands) {
      const { code, stderr } = await ops(...args);
      if (code !== 0 || stderr !== '') failed.push({ args, code, stderr });
    }
    // There is no gateway yet.
    expect(await ops('status')).toMatchObject({
      code: 1,
      stderr: '',
      stdout: expect.stringContaining('No gateway is running') as string,
    });
    await expectExactly('ops', { failed });
  });

  describe('of a reader', () => {
    const read = (...args: string[]) => runOps(args, { REDIS_URL: urlOf('reader') });
    let id: string;
    let customerId: string;

    beforeAll(async () => {
      await redis.flushdb();
      await server.redis.script('FLUSH');
      await ops('plans', 'set', 'gold', '--create', '--minute', '5', '--day', '50');
      const issued = await issue({ plan: 'gold' });
      ({ id, customerId } = issued);
      await ops('bans', 'add', id, '--for', '1h', '--reason', 'flood');
      await redis.set(redisKeys.day(issued.customerId, yesterday()), '7');
    });

    test('runs each command that reads, and is denied nothing', async () => {
      await server.redis.acl('LOG', 'RESET');
      const plans = join(directory.path, 'plans.yaml');
      const added = await runOps(['webhooks', 'add', 'https://webhooks.invalid/', '--json'], {
        REDIS_URL: `${server.url}/2`,
      });
      const { id: webhook } = JSON.parse(added.stdout) as { id: string };
      await resetCommandUse(server.redis);
      const commands = [
        ['keys', 'list', '--plan', 'gold'],
        ['keys', 'list', '--state', 'banned'],
        ['keys', 'list', '--after', id],
        ['customers', 'list'],
        ['customers', 'show', customerId],
        ['keys', 'show', id],
        ['keys', 'find', 'key_'],
        ['keys', 'export'],
        ['usage', id],
        ['usage', id, '--days', '30'],
        ['usage', 'export', '--from', '2026-11-01'],
        ['usage', 'retention'],
        ['top'],
        ['bans', 'list'],
        ['addresses', 'top'],
        ['addresses', 'blocked'],
        ['plans', 'list'],
        ['plans', 'set', 'gold', '--minute', '4', '--dry-run'],
        ['plans', 'export', plans],
        ['plans', 'diff', plans],
        ['policy', 'show'],
        ['audit'],
        ['audit', '--target', id, '--since', '1h'],
        ['console', 'sessions'],
        ['webhooks', 'list'],
        ['webhooks', 'deliveries', webhook],
      ];
      const following = spawn(process.execPath, ['gateway/ops/main.ts', 'audit', '--follow'], {
        env: { ...process.env, REDIS_URL: urlOf('reader') },
        stdio: 'ignore',
      });
      await expect.poll(() => readCommandUse(server.redis)).toContain('xread');
      following.kill();
      const failed: unknown[] = [];
      for (const args of commands) {
        const { code, stderr } = await read(...args);
        if (code !== 0 || stderr !== '') failed.push({ args, code, stderr });
      }
      expect(await read('status')).toMatchObject({
        code: 1,
        stdout: expect.stringContaining('No gateway is running') as string,
      });
      expect((await read('keys', 'show', 'key_000000000000000000')).stderr).toContain('there is no API key');
      expect(await read('console', '--viewer')).toMatchObject({ code: 0 });
      // The type of a value is asked for when Redis refuses it.
      await redis.rename(redisKeys.bans, 'gw:bans-before');
      await redis.set(redisKeys.bans, 'x');
      expect((await read('bans', 'list')).stderr).toContain('gw:bans is a string');
      await redis.rename('gw:bans-before', redisKeys.bans);
      const used = [...aclCommands('reader', 'server', usersVersion), readerLinkCommand].toSorted();
      const sentHere = ['rename', 'set'];
      expect({ failed, ...(await commandUse(...sentHere)) }).toEqual({ failed: [], denied: [], used });
    });

    test('runs no command that changes something: it says so, and nothing is changed', async () => {
      const file = join(directory.path, 'records.jsonl');
      await writeFile(file, (await ops('keys', 'export')).stdout);
      const plans = join(directory.path, 'other-plans.yaml');
      await ops('plans', 'export', plans);
      await writeFile(plans, (await readFile(plans, 'utf8')).replace('minute: 5', 'minute: 6'));
      const before = await snapshot(redis);
      for (const args of [
        ['keys', 'issue', '--plan', 'gold', '--name', 'New'],
        ['keys', 'set', id, '--minute', '5'],
        ['keys', 'rotate', id],
        ['keys', 'revoke', id, '--yes'],
        ['keys', 'import', file],
        ['bans', 'add', id, '--for', '1h', '--reason', 'flood'],
        ['bans', 'lift', id],
        ['addresses', 'block', '203.0.113.7', '--for', '1h', '--reason', 'flood'],
        ['plans', 'set', 'gold', '--minute', '6'],
        ['plans', 'remove', 'gold', '--yes'],
        ['plans', 'apply', plans, '--yes'],
        ['policy', 'set', '--ban-seconds', '30'],
        ['policy', 'reset'],
        ['usage', 'retention', '--days', '500'],
        ['console', 'sessions', 'end', '--all', '--yes'],
      ]) {
        const { code, stdout, stderr } = await read(...args);
        expect({ args, code, stdout, stderr }).toEqual({
          args,
          code: 2,
          stdout: '',
          stderr: expect.stringContaining(
            'the Redis user reader-ada may only read, and make links for a viewer (ops console --viewer): nothing was changed',
          ) as string,
        });
      }
      const operatorLink = await read('console');
      expect(operatorLink).toMatchObject({ code: 2, stdout: '' });
      expect(operatorLink.stderr).toContain('for a viewer only: add --viewer');
      expect((await read('console', '--viewer', '--for', 'Grace')).stderr).toContain('for ada only');
      expect(await snapshot(redis)).toEqual(before);
    });

    test('is refused by Redis whatever changes something, also in a script', async () => {
      const limited = await connectRedis(urlOf('reader'));
      const codeKey = redisKeys.consoleCode(hashSecret('x'.repeat(22)));
      const before = await snapshot(redis);
      for (const [name = '', ...args] of [
        ['XADD', redisKeys.audit, '*', 'who', 'Grace'],
        ['DEL', redisKeys.audit],
        ['SET', codeKey, '{}'],
        ['PSETEX', codeKey, '1000', '{}'],
        ['PSETEX', redisKeys.consoleReader('grace'), '1000', '{}'],
        ['PSETEX', `${redisKeys.consoleReader('ada')}x`, '1000', '{}'],
        ['SET', redisKeys.consoleReader('ada'), '{}'],
        ['HSET', redisKeys.consoleSessions, 'x', '{}'],
        ['HSET', redisKeys.plan('gold'), 'minute', '1'],
        ['EVAL', "return redis.call('DEL', KEYS[1])", '1', redisKeys.plan('gold')],
        ['EVAL', "return redis.call('PSETEX', KEYS[1], 1000, '{}')", '1', redisKeys.plan('gold')],
        ['EVAL', "return redis.call('XADD', 'gw:audit', '*', 'who', 'Grace')", '0'],
        ['GET', 'other'],
        ['CONFIG', 'GET', '*'],
        ['ACL', 'LIST'],
      ]) {
        await expect(limited.call(name, ...args), `${name} ${args.join(' ')}`).rejects.toThrow(
          /NOPERM|ACL failure|permissions|The user executing the script/i,
        );
      }
      expect(await snapshot(redis)).toEqual(before);
      limited.disconnect();
      await server.redis.acl('LOG', 'RESET');
    });

    test('signs in with a link of their own as a viewer, whatever they have written, and the audit log has it', async () => {
      await using gateway = await startGateway({
        REDIS_URL: urlOf('gateway'),
        PETS_SERVICE_URL: upstream.url,
      });
      await expect.poll(() => redis.zcard(redisKeys.consoleAddresses)).toBe(1);
      const made = JSON.parse((await read('console', '--viewer', '--json')).stdout) as Record<string, string>;
      expect(made).toMatchObject({ name: 'ada', role: 'viewer' });
      const code = made['link']?.split('#code=')[1] ?? '';
      expect(code).toMatch(/^ada\.[\w-]{22}$/);
      const viewer = await signInWith(gateway.adminUrl, code);

      // A record that claims more, in the only key that the reader may write.
      const secret = 'A'.repeat(22);
      const limited = await connectRedis(urlOf('reader'));
      await limited.psetex(
        redisKeys.consoleReader('ada'),
        60_000,
        JSON.stringify({
          codeHash: hashSecret(secret),
          expiresAtMs: Date.now() + 60_000,
          session: 'console_1',
          role: 'operator',
          name: 'Grace',
          grantedBy: 'Grace',
        }),
      );
      limited.disconnect();
      expect((await send(`${gateway.adminUrl}/api/session`)).status).toBe(401);
      const forged = await signInWith(gateway.adminUrl, `ada.${secret}`);
      for (const api of [viewer, forged]) {
        expect((await api.send('GET', '/api/session')).body).toMatchObject({ name: 'ada', role: 'viewer' });
        expect((await api.send('DELETE', '/api/plans/gold')).body).toMatchObject({
          code: 'operator_required',
        });
      }
      const listed = JSON.parse((await read('console', 'sessions', '--json')).stdout) as object[];
      expect(listed).toEqual(
        Array.from({ length: 2 }, () =>
          expect.objectContaining({
            id: expect.stringMatching(/^console_[\da-f]{12}$/) as string,
            name: 'ada',
            role: 'viewer',
            grantedBy: 'ada',
          }),
        ),
      );
      const entries = JSON.parse((await read('audit', '--action', 'console', '--json')).stdout) as object[];
      expect(entries.slice(-4)).toMatchObject([
        { who: 'ada', action: 'console.link', after: { name: 'ada', role: 'viewer' } },
        { who: 'ada', action: 'console.sign_in', after: { name: 'ada', role: 'viewer' } },
        { who: 'ada', action: 'console.link', after: { name: 'ada', role: 'viewer' } },
        { who: 'ada', action: 'console.sign_in', after: { name: 'ada', role: 'viewer' } },
      ]);
      await gateway.stop();
    });
  });
});
