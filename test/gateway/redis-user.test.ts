import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aclCommands } from '../../gateway/operations/redis-acl.ts';
import type { RedisUser } from '../../gateway/operations/redis-commands.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { redisKeys } from '../../gateway/redis/redis-keys.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import { runProgram, startGateway } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { readCommandUse, resetCommandUse } from '../support/stores/command-use.ts';
import { startRedisServer, type RedisServer } from '../support/stores/redis-server.ts';
import { startUpstream, type Upstream } from '../support/upstreams/upstream.ts';

/** A version without WAITAOF, so that the rules suit every server that tests run on. */
const version = { major: 7, minor: 0 };
const passwords = { gateway: 'a-gateway-password', ops: 'an-ops-password-too' };
/** Sent by this test, and commands that need no permission. */
const ownCommands = new Set(['acl|log', 'acl|setuser', 'auth', 'config|resetstat', 'hello', 'keys', 'ping']);

describe('the Redis users of ops redis-acl', { tags: ['redis-server'], timeout: 120_000 }, () => {
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
    stack = starting.move();
  });
  afterAll(() => stack.disposeAsync());

  const urlOf = (role: RedisUser) => `redis://${role}:${passwords[role]}@127.0.0.1:${server.port}/2`;
  const ops = (...args: string[]) =>
    runProgram(['gateway/ops/main.ts', ...args], { REDIS_URL: urlOf('ops') });
  const issue = (wanted?: Parameters<ReturnType<typeof keyIssuer>['issue']>[0]) =>
    keyIssuer(redis).issue(wanted);

  test('placeholder', async () => {
    expect(await readFile('/dev/null', 'utf8')).toBe('');
    const { stdout } = await runProgram(['gateway/ops/main.ts', 'redis-acl', '--redis-version', '7.0', '--passwords', 'generate']);
    console.log(stdout);
    for (const line of stdout.trim().split('\n')) await server.redis.call('ACL', ...line.split(' ').slice(1));
    await server.redis.acl('SETUSER', 'gateway', `>${passwords.gateway}`);
    await server.redis.acl('SETUSER', 'ops', `>${passwords.ops}`);
    await resetCommandUse(server.redis);
    await using gateway = await startGateway({ REDIS_URL: urlOf('gateway'), PETS_SERVICE_URL: upstream.url });
    const use1 = await readCommandUse(server.redis);
    console.log(use1, gateway.output(), await server.redis.acl('LOG'));
    void [join, writeFile, aclCommands, redisKeys, send, ownCommands, version, ops, issue];
    const x: IssuedKey | undefined = undefined;
    expect(x).toBe(undefined);
  });
});
