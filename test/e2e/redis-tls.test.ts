import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { builtInPlans } from '../../gateway/quota/plan-settings.ts';
import { freePort } from '../support/http/free-port.ts';
import { runProgram } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { together } from '../support/kits/together.ts';
import { startRedisProcess } from '../support/stores/redis-process.ts';

describe('a Redis with TLS and a password', { tags: ['redis-server', 'openssl'] }, () => {
  const password = 'hunter2&';
  let certificate: string;
  let port: number;
  let sentinelPort: number;

  const startWithTls = async (stack: AsyncDisposableStack) => {
    const directory = stack.use(await temporaryDirectory());
    certificate = join(directory.path, 'cert.pem');
    const key = join(directory.path, 'key.pem');
    const opensslArgs = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    opensslArgs.push('-days', '2', '-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1');
    execFileSync('openssl', [...opensslArgs, '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const tls = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    tls.push('--tls-auth-clients', 'no', '--tls-replication', 'yes', '--save', '');
    port = await freePort();
    sentinelPort = await freePort();
    const server = stack.use(await startRedisProcess(() => ['--tls-port', String(port), ...tls]));
    await server.redis.config('SET', 'requirepass', password);
    for (const [name, { defaults: limits }] of builtInPlans)
      await server.redis.hset(redisKeys.plan(name), limits);
    const file = join(directory.path, 'sentinel.conf');
    writeFileSync(file, '');
    const sentinelArgs = [file, '--sentinel', '--tls-port', String(sentinelPort), ...tls];
    const sentinel = stack.use(await startRedisProcess(() => sentinelArgs));
    await sentinel.redis.call('SENTINEL', 'MONITOR', 'animals', '127.0.0.1', port, '1');
    await sentinel.redis.call('SENTINEL', 'SET', 'animals', 'auth-pass', password);
    return {};
  };
  shared(() => together(startWithTls));

  const listPlans = (url: string, trusted: boolean) =>
    runProgram(['gateway/faces/command/main.ts', 'plans', 'list'], {
      REDIS_URL: url,
      ...(trusted ? { NODE_EXTRA_CA_CERTS: certificate } : {}),
    });
  const encodedPassword = encodeURIComponent(password);
  const urlForms: [form: string, url: () => string][] = [
    ['rediss://', () => `rediss://:${encodedPassword}@127.0.0.1:${port}`],
    ['rediss+sentinel://', () => `rediss+sentinel://:${encodedPassword}@127.0.0.1:${sentinelPort}/animals`],
  ];

  test.each(urlForms)('%s connects', async (_form, url) => {
    const { code, stdout, stderr } = await listPlans(url(), true);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/free +60 +1000/);
  });

  test('an untrusted certificate is refused', async () => {
    const { code, stderr } = await listPlans(urlForms[0]?.[1]() ?? '', false);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^ops: Redis at 127\.0\.0\.1:\d+ cannot be reached: self-signed certificate/);
  });

  test('a wrong password is reported but not printed', async () => {
    const { code, stderr } = await listPlans(`rediss://:letmein@127.0.0.1:${port}`, true);
    expect(code).toBe(1);
    expect(stderr).toContain('WRONGPASS');
    expect(stderr).not.toContain('letmein');
  });
});
