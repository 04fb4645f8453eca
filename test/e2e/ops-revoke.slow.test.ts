import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisKeys, type CustomerId } from '../../gateway/redis/redis-keys.ts';
import { snapshot, startOpsKit, type OpsKit } from '../support/kits/ops-kit.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

interface Entry {
  action: string;
  target: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

describe('ops keys revoke of many keys', { timeout: 120_000 }, () => {
  let kit: OpsKit;
  let directory: TemporaryDirectory;

  beforeAll(async () => {
    kit = await startOpsKit();
    directory = await temporaryDirectory();
  }, 60_000);
  afterAll(async () => {
    await directory[Symbol.asyncDispose]();
    await kit[Symbol.asyncDispose]();
  });

  async function list(content: string): Promise<string> {
    const path = join(directory.path, 'keys.txt');
    await writeFile(path, content);
    return path;
  }
  const revoke = (...args: string[]) => kit.run('keys', 'revoke', ...args);
  const statesOf = async (...ids: string[]) =>
    Promise.all(ids.map(async (id) => (await kit.json<{ state: string }>('keys', 'show', id)).state));
  const lastEntries = (count: number) => kit.json<Entry[]>('audit', '--count', String(count));

  test('revokes those of a list: ids, hints and keys, each audited, and one entry for the list', async () => {
    const [byId, byHint, byKey, kept] = await Promise.all([1, 2, 3, 4].map(() => kit.issue({ plan: 'pro' })));
    const ids = [byId?.id, byHint?.id, byKey?.id].map(String);
    const file = await list(`${byId?.id}\n\n${byHint?.key.slice(0, 9)}\n${byKey?.key}\n${byId?.id}\n`);
    const before = await snapshot(kit.redis);
    const dryRun = await kit.json<{ id: string }[]>('keys', 'revoke', '--from', file, '--dry-run');
    expect(dryRun.map(({ id }) => id)).toEqual(ids);
    expect(await revoke('--from', file)).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'ops: Revoke 3 keys (3 pro) for good, from their next requests on? There is no terminal to ask on: give --yes to do it\n',
    });
    expect(await snapshot(kit.redis)).toEqual(before);
    expect(await kit.json('keys', 'revoke', '--from', file, '--yes')).toEqual({
      revoked: 3,
      alreadyRevoked: 0,
    });
    expect(await statesOf(...ids, String(kept?.id))).toEqual(['revoked', 'revoked', 'revoked', 'valid']);
    expect((await kit.pets(byKey?.key)).status).toBe(401);
    const [batch, ...each] = await lastEntries(4);
    expect(batch).toMatchObject({
      action: 'keys.revoke-batch',
      target: expect.stringMatching(/^batch_/) as string,
      after: { count: 3, plans: { pro: 3 }, fileSha256: expect.stringMatching(/^[\da-f]{64}$/) as string },
    });
    expect(each.map(({ action }) => action)).toEqual(['keys.revoke', 'keys.revoke', 'keys.revoke']);
    expect(each.map(({ target }) => target).toSorted()).toEqual(ids.toSorted());
    // Again, it has nothing to do.
    expect(await kit.json('keys', 'revoke', '--from', file)).toEqual({ revoked: 0, alreadyRevoked: 3 });
    expect(await lastEntries(4)).toEqual([batch, ...each]);
  });

  test('revokes those that meet all conditions, of a CSV list, and of a bulk issue', async () => {
    const [one, two, other] = await Promise.all([
      kit.issue({ plan: 'pro', name: 'Gone One' }),
      kit.issue({ plan: 'pro', name: 'Gone Two' }),
      kit.issue({ plan: 'free', name: 'Gone Three' }),
    ]);
    expect(await kit.json('keys', 'revoke', '--plan', 'pro', '--name', 'gone', '--yes')).toMatchObject({
      revoked: 2,
    });
    expect(await statesOf(one.id, two.id, other.id)).toEqual(['revoked', 'revoked', 'valid']);
    expect((await lastEntries(3))[0]).toMatchObject({
      action: 'keys.revoke-batch',
      after: { filter: { plan: 'pro', name: 'gone' } },
    });
    const csv = (await kit.run('keys', 'list', '--name', 'gone three', '--output', 'csv')).stdout;
    expect(await kit.json('keys', 'revoke', '--from', await list(csv), '--yes')).toMatchObject({
      revoked: 1,
    });
    const issued = await kit.run(
      'keys',
      'issue',
      '--from',
      await list('name,plan\nA,free\nB,free\n'),
      '--json',
    );
    const batch = (JSON.parse(issued.stdout) as { batch: string }[])[0]?.batch ?? '';
    expect(await kit.json('keys', 'revoke', '--batch', batch, '--yes')).toMatchObject({ revoked: 2 });
    expect(await kit.json('keys', 'list', '--batch', batch, '--state', 'valid')).toEqual([]);
  });

  test('refuses what does not name keys, and changes nothing', async () => {
    const { id, key } = await kit.issue();
    const entries = await kit.redis.xlen(redisKeys.audit);
    for (const [content, message] of [
      ['', /the file names no keys/],
      [`${id}\nkey_unknown\n`, /line 2: there is no API key with the id/],
      ['pets_zzzz\n', /line 1: no key has the hint pets_zzzz/],
      ['pets_z\n', /line 1: neither an id nor a hint/],
      [`name,plan\nx,free\n`, /line 1: several columns/],
      [`${key.slice(0, -1)}\n`, /line 1: neither an id nor a hint/],
      [`id\n"${key}\n`, /neither a list nor a CSV file/],
    ] as const) {
      const { code, stdout, stderr } = await revoke('--from', await list(content), '--yes');
      expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain(key.slice(9));
    }
    for (const args of [[], [id, '--plan', 'pro'], [id, '--dry-run'], ['--from', 'x', '--plan', 'pro']]) {
      expect(await revoke(...args, '--yes')).toMatchObject({ code: 2, stdout: '' });
    }
    expect((await revoke('--plan', 'nope', '--yes')).stderr).toContain('there is no plan named "nope"');
    expect(await statesOf(id)).toEqual(['valid']);
    expect(await kit.redis.xlen(redisKeys.audit)).toBe(entries);
  });

  test('ends on SIGINT after a page, says how many, and goes on when it is run again', async () => {
    const rows = Array.from({ length: 3000 }, (_, index) => `Many ${index},free`);
    await kit.run('keys', 'issue', '--from', await list(`name,plan\n${rows.join('\n')}\n`));
    const child = spawn(
      process.execPath,
      ['gateway/ops/main.ts', 'keys', 'revoke', '--name', 'many', '--yes'],
      {
        env: { ...process.env, REDIS_URL: kit.server.url },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const closed = once(child, 'close') as Promise<[number]>;
    const stderrText = text(child.stderr);
    const newest = async () => {
      const [entry] = await kit.redis.xrevrange(redisKeys.audit, '+', '-', 'COUNT', 1);
      return entry?.[1] ?? [];
    };
    await expect.poll(newest, { timeout: 60_000, interval: 5 }).toContain('keys.revoke');
    child.kill('SIGINT');
    const [[code], stderr] = await Promise.all([closed, stderrText]);
    const left = await kit.json<unknown[]>('keys', 'list', '--name', 'many', '--state', 'valid');
    expect(left.length).toBeGreaterThan(0);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `ops: stopped by SIGINT after ${3000 - left.length} of 3000 keys: the others still work; run it again to go on\n`,
    });
    expect(await kit.json('audit', '--action', 'keys.revoke-batch.incomplete')).toMatchObject([
      { before: { count: 3000 }, after: { count: 3000 - left.length } },
    ]);
    expect(await kit.json('keys', 'revoke', '--name', 'many', '--yes')).toEqual({
      revoked: left.length,
      alreadyRevoked: 3000 - left.length,
    });
  });

  test('that fails says how many were revoked, and goes on when it is run again', async () => {
    const issued = await Promise.all([1, 2, 3].map(() => kit.issue({ name: 'Failing', plan: 'pro' })));
    const { customerId } = await kit.json<{ customerId: CustomerId }>('keys', 'show', String(issued[1]?.id));
    const keysOfCustomer = redisKeys.customerKeys(customerId);
    await kit.redis.rename(keysOfCustomer, 'kept');
    await kit.redis.set(keysOfCustomer, 'of another type');
    const { code, stderr } = await revoke('--name', 'failing', '--yes');
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'ops: note: at least 2 of 3 keys were revoked; run it again to go on\n' +
        `ops: ${keysOfCustomer} is a string and not a set: DEL it or restore it first\n`,
    });
    await kit.redis.rename('kept', keysOfCustomer);
    expect(await kit.json('keys', 'revoke', '--name', 'failing', '--yes')).toEqual({
      revoked: 1,
      alreadyRevoked: 2,
    });
  });
});
