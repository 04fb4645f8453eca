import { rm } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { sectionOf } from '../support/checks/runbook-commands.ts';
import { startOpsKit } from '../support/kits/ops-kit.ts';
import { redisStateOf } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

/** The documented command for each reply of a Redis that refuses writes. */
const documented = new Map(
  Array.from(
    sectionOf('RUNBOOK.md', 'Cut off a leaked key while Redis refuses writes').matchAll(
      /^ +\| `(\w+)`(.*?) *\| `redis-cli (.+?)`/gm,
    ),
    ([, reply = '', reason = '', command = '']) => [`${reply}${reason}`, command.split(' ')],
  ),
);

describe('a leaked key while Redis refuses writes', { tags: ['redis-server'], timeout: 120_000 }, () => {
  const kit = shared(startOpsKit);

  const redisState = () => redisStateOf(kit.gateway);

  /** Redis keeps the files that are open in its directory, and cannot write others. */
  async function failToSave(): Promise<void> {
    const { redis } = kit.server;
    const [, directory = ''] = await redis.config('GET', 'dir');
    await redis.config('SET', 'save', '3600 1');
    await rm(directory, { recursive: true });
    await redis.bgsave();
    await expect.poll(() => redis.info('persistence')).toContain('rdb_last_bgsave_status:err');
  }

  test.each<[reply: string, refuse: () => Promise<unknown>]>([
    ['NOREPLICAS', () => kit.server.redis.config('SET', 'min-replicas-to-write', 1)],
    ['OOM', () => kit.server.redis.config('SET', 'maxmemory', 1)],
    ['READONLY', () => kit.server.redis.replicaof('127.0.0.1', 1)],
    ['MISCONF, it cannot save an RDB file', failToSave],
  ])('%s: the documented command lets it be revoked', async (reply, refuse) => {
    const { id, key } = await kit.issue();
    expect((await kit.pets(key)).status).toBe(200);
    await refuse();
    await expect
      .poll(async () => [(await kit.pets(key)).status, await redisState()], { timeout: 10_000 })
      .toEqual([200, 'unavailable']);
    expect(await kit.run('keys', 'revoke', '--yes', id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(reply.split(',')[0] ?? '') as string,
    });
    expect((await kit.pets(key)).status).toBe(200);

    const [command = '', ...args] = documented.get(reply) ?? [];
    await kit.server.redis.call(command, ...args);
    expect(await kit.run('keys', 'revoke', '--yes', id)).toMatchObject({ code: 0 });
    await expect.poll(async () => (await kit.pets(key)).status, { timeout: 10_000 }).toBe(401);
  });
});
