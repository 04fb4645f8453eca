import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The documented commands: the backup, and the restore. */
function documentedCommands(): [backup: string, restore: string] {
  const runbook = readFileSync(`${root}/gateway/ops/RUNBOOK.md`, 'utf8');
  const section = runbook.split('## Move to a new Redis')[1]?.split('\n## ')[0] ?? '';
  const [backup = '', restore = ''] = Array.from(
    section.matchAll(/```sh\n(.+?)```/gs),
    ([, code = '']) => code,
  );
  return [backup, restore];
}

/** Runs documented commands in a directory. */
async function run(commands: string, directory: string, url: string): Promise<void> {
  const script = `
    set -e
    ops() { '${process.execPath}' --disable-warning=ExperimentalWarning '${root}/gateway/ops/main.ts' "$@"; }
    ${commands.replaceAll('redis://new:6379', url)}`;
  await promisify(execFile)('sh', ['-c', script], {
    cwd: directory,
    env: { PATH: process.env['PATH'], REDIS_URL: url },
  });
}

describe('the documented backup', { tags: ['redis-server'], timeout: 60_000 }, () => {
  async function issueKeys(kit: OpsKit): Promise<Map<string, string>> {
    await kit.json('plans', 'set', 'gold', '--create', '--minute', '2000', '--day', '500000');
    const plans = { free: '60', pro: '300', business: '1000', gold: '2000', enterprise: '5' };
    const own = { enterprise: { minute: 5, day: 50 } };
    const issued = new Map<string, string>();
    for (const [plan, limit] of Object.entries(plans)) {
      const { key } = await kit.issue({ plan, ...own[plan as 'enterprise'] });
      issued.set(key, limit);
    }
    return issued;
  }

  async function expectServed(gateway: Service, keys: Map<string, string>): Promise<void> {
    for (const [key, limit] of keys) {
      const response = await send(`${gateway.url}/v1/pets`, { key });
      expect([response.status, response.header('X-RateLimit-Limit')]).toEqual([200, limit]);
    }
  }

  test('is restored into an empty Redis before the first gateway runs on it', async () => {
    const [backup, restore] = documentedCommands();
    await using kit = await startOpsKit();
    await using directory = await temporaryDirectory();
    await using other = await startRedisServer();
    const keys = await issueKeys(kit);
    await run(backup, directory.path, kit.server.url);
    await run(restore, directory.path, other.url);
    await using gateway = await startGateway({ REDIS_URL: other.url, PETS_SERVICE_URL: kit.upstream.url });
    await expectServed(gateway, keys);
  });

  test('is restored after Redis has lost everything while a gateway runs', async () => {
    const [backup, restore] = documentedCommands();
    await using kit = await startOpsKit();
    await using directory = await temporaryDirectory();
    const keys = await issueKeys(kit);
    await run(backup, directory.path, kit.server.url);
    await kit.redis.flushall();
    await run(restore, directory.path, kit.server.url);
    await expectServed(kit.gateway, keys);
    await using second = await startGateway({
      REDIS_URL: kit.server.url,
      PETS_SERVICE_URL: kit.upstream.url,
    });
    await expectServed(second, keys);
    const { stdout, stderr } = await kit.run('plans', 'list');
    expect(stdout).not.toContain('ENFORCED');
    expect(stderr).toBe('');
  });
});
