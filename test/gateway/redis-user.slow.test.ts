import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { textFields } from '../../gateway/platform/redis/settings.ts';
import { defaultBanPolicy } from '../../gateway/quota/policies.ts';
import { send } from '../support/http/http.ts';
import { signIn } from '../support/kits/console-api-kit.ts';
import { connectRedis, keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import {
  logIn,
  permittedCommands,
  readCommandUse,
  resetCommandUse,
  setUser,
} from '../support/kits/redis-users.ts';
import { runOps, startGateway, type Service } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const thisMonth = () => new Date().toISOString().slice(0, 7).replace('-', '');

describe('the Redis user of users.acl', { tags: ['redis-server'], timeout: 180_000 }, () => {
  /** Permitted commands that this Redis does not know. */
  let unknown: string[];
  const used = new Set<string>();

  const server = shared(startRedisServer);
  const upstream = shared(startUpstream);
  const directory = shared(temporaryDirectory);
  const redis = shared(() => connectRedis(`${server.url}/2`));
  beforeAll(async () => {
    unknown = await setUser(server.redis, 'users.acl');
  });

  // With a database, so that SELECT is sent, too.
  const limitedUrl = () => `${logIn(server.url)}/2`;
  const ops = (...args: string[]) => runOps(args, { REDIS_URL: limitedUrl() });
  const issue = (wanted?: Parameters<ReturnType<typeof keyIssuer>['issue']>[0]) =>
    keyIssuer(redis).issue(wanted);
  /** Remembers what was sent since `resetCommandUse`. @returns the commands that were denied */
  async function denied(): Promise<unknown[]> {
    const permitted = new Set(permittedCommands('users.acl'));
    for (const command of await readCommandUse(server.redis)) if (permitted.has(command)) used.add(command);
    const entries = (await server.redis.acl('LOG')) as unknown[][];
    // `object` is the command that was denied.
    return entries.map((entry) => entry[entry.indexOf('object') + 1]);
  }

  async function startReplica() {
    const replica = await startRedisProcess(() => ['--replicaof', `127.0.0.1 ${server.port}`]);
    await expect.poll(() => server.redis.info('replication')).toContain('state=online');
    return replica;
  }

  /** Does in the console of a gateway what sends commands that no request needs. */
  async function useConsole(gateway: Service, { id, customerId }: IssuedKey): Promise<void> {
    const api = await signIn(redis, gateway.adminUrl);
    const limits = { minute: 5, day: 50 };
    const steps: [method: string, path: string, body?: unknown][] = [
      ['GET', '/api/session'],
      ['GET', '/api/customers'],
      ['POST', '/api/customers', { name: 'new', plan: 'free' }],
      ['POST', '/api/webhooks', { url: 'https://webhooks.invalid/' }],
      ['GET', '/api/keys'],
      ['GET', '/api/keys?search=x&state=active'],
      ['GET', `/api/keys/${id}`],
      ['GET', `/api/customers/${customerId}/usage?days=30`],
      ['PUT', `/api/keys/${id}/ban`, { seconds: 60, reason: 'test' }],
      ['GET', '/api/bans'],
      ['DELETE', `/api/keys/${id}/ban`],
      ['POST', '/api/keys', { name: 'new', plan: 'free' }],
      ['POST', `/api/keys/${id}/rotate`, { graceSeconds: 0 }],
      ['POST', `/api/keys/${id}/revoke`, {}],
      ['GET', '/api/plans'],
      ['PATCH', '/api/plans/gold', { ...limits, create: true, expected: {} }],
      ['GET', '/api/plans/gold'],
      ['POST', '/api/plans/gold/preview', limits],
      ['DELETE', '/api/plans/gold'],
      ['GET', '/api/audit?who=Ada'],
      ['GET', '/api/policy'],
      ['GET', '/api/live'],
      ['GET', '/api/traffic'],
      ['GET', '/api/usage/months'],
    ];
    for (const [method, path, body] of steps) {
      const { status, body: answer } = await api.send(method, path, body);
      expect(status, `${method} ${path} ${JSON.stringify(answer)}`).toBeOneOf([200, 201, 204]);
    }
    await api.send('DELETE', '/api/session');
  }

  test('the gateway is denied nothing that it does', async () => {
    // The gateway seeds what else it needs. The policy bans at once.
    await redis.hset(redisKeys.plan('free'), { minute: '60', day: '1000' });
    const keys = await Promise.all([issue({ minute: 2 }), issue({ minute: 2 }), issue()]);
    const [banned, , old] = keys;
    const harsh = { ...defaultBanPolicy, graceSeconds: 0, strikes: 1, strikesPerLimit: 0, banSeconds: 1 };
    await redis.hset(redisKeys.banPolicy, textFields({ ...harsh, maxBanSeconds: 60 }));
    await resetCommandUse(server.redis);

    await using gateway = await startGateway({ REDIS_URL: limitedUrl(), PETS_SERVICE_URL: upstream.url });
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
    await useConsole(gateway, old);
    await gateway.stop();
    expect(gateway.output()).not.toMatch(/"level":50|permission|INFO/);
    expect(await denied()).toEqual([]);
  });

  test('adds to the audit log, and cannot remove or replace it', async () => {
    using limited = await connectRedis(limitedUrl());
    const id = await limited.xadd(redisKeys.audit, '*', 'who', 'somebody');
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
    await server.redis.acl('LOG', 'RESET');
  });

  test('the ops command is denied nothing that it does', async () => {
    // Nothing is set yet, as before the first gateway runs; a replica has to confirm the changes.
    await redis.flushdb();
    // Scripts that are not in Redis' cache are sent with EVAL.
    await server.redis.script('FLUSH');
    await redis.hset(redisKeys.plan('free'), { minute: '60', day: '1000' });
    await using _replica = await startReplica();
    const { id, customerId } = await issue();
    await redis.zadd(redisKeys.usageRanking(thisMonth()), 1, customerId);
    const file = join(directory.path, 'keys.jsonl');
    const plans = join(directory.path, 'plans.yaml');
    const commands = (
      'keys issue --plan free --name New; customers create --plan free --name Newer; customers list; ' +
      `customers show ${customerId}; customers set ${customerId} --notes VIP --minute 5; ` +
      `customers suspend ${customerId}; customers resume ${customerId}; ` +
      `keys issue --customer ${customerId}; keys list; keys show ${id}; keys list --search New; ` +
      `keys set ${id} --expires 2099-01-01; keys set ${id} --expires never; keys rotate ${id}; ` +
      `keys revoke --yes ${id}; keys export; keys import ${file}; usage show ${customerId}; ` +
      'usage export --from 2026-11-01; policy set --retention-days 500; top; ' +
      `bans add ${id} --for 1h --reason flood; bans list; bans lift ${id}; plans list; ` +
      `plans set gold --create --minute 5 --day 50; plans export; plans diff ${plans}; ` +
      `plans remove gold --yes; plans apply ${plans}; policy set --ban-seconds 30; policy show; audit; ` +
      'audit --since 1h'
    ).split('; ');
    await server.redis.acl('LOG', 'RESET');
    await resetCommandUse(server.redis);
    await writeFile(file, (await ops('keys', 'export')).stdout);
    await writeFile(plans, 'plans: {gold: {minute: 5, day: 50}}\n');
    const failed: unknown[] = [];
    for (const command of commands) {
      const { code, stderr } = await ops(...command.split(' '));
      if (code !== 0 || stderr !== '') failed.push({ command, code, stderr });
    }
    // There is no gateway yet.
    const stdout = expect.stringContaining('No gateway is running') as string;
    expect(await ops('status')).toMatchObject({ code: 1, stderr: '', stdout });
    expect({ failed, denied: await denied() }).toEqual({ failed: [], denied: [] });
  });

  test('each command that the user may send is sent, but for those of a Cluster', () => {
    const ofClusters = ['asking', 'cluster|info', 'cluster|slots', 'readonly'];
    const others = new Set([...ofClusters, ...unknown]);
    const expected = permittedCommands('users.acl').filter((name) => !others.has(name));
    expect([...used].toSorted()).toEqual(expected);
  });
});
