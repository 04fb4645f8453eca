import { beforeEach, describe, expect, test } from 'vitest';
import {
  findApiToken,
  issueApiToken,
  listApiTokens,
  revokeApiToken,
} from '../../gateway/control/access/api-tokens.ts';
import { hashSecret } from '../../gateway/control/access/expiring-secrets.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { sessionOf, startRedisClient } from '../support/kits/keys.ts';
import { contents } from '../support/kits/ops-kit.ts';
import { shared } from '../support/kits/shared.ts';

const [minuteMs, dayMs] = [60_000, 86_400_000];

describe('tokens of the operators’ API', () => {
  const redis = shared(startRedisClient);
  beforeEach(() => redis.del(redisKeys.apiTokens));

  const startMs = Date.now();
  const session = (laterMs = 0) => ({ ...sessionOf(redis, 'Grace'), now: () => startMs + laterMs });
  const inDays = (days: number) => new Date(startMs + days * dayMs);
  const issue = (days = 1, laterMs = 0) =>
    issueApiToken(session(laterMs), { name: 'billing', scopes: ['keys:write'], expiresAt: inDays(days) });

  test('one is found until it expires or is revoked, and only its hash is stored', async () => {
    const { token, ...issued } = await issue();
    expect(token).toMatch(/^ops_[\w-]{43}$/);
    expect(issued).toMatchObject({ name: 'billing', scopes: ['keys:write'], createdBy: 'Grace' });
    expect(await findApiToken(session(), token)).toEqual(issued);
    expect(await findApiToken(session(dayMs - 1), token)).toEqual(issued);
    expect(await findApiToken(session(dayMs), token)).toBeUndefined();
    for (const other of ['', token.slice(0, -1), `${token}x`, token.toUpperCase(), hashSecret(token)]) {
      expect(await findApiToken(session(), other)).toBeUndefined();
    }
    expect(JSON.stringify(await contents(redis))).not.toContain(token.slice(4));
    expect(await revokeApiToken(session(), issued.id)).toEqual(issued);
    expect(await findApiToken(session(), token)).toBeUndefined();
    await expect(revokeApiToken(session(), issued.id)).rejects.toThrow('there is no token');
  });

  test('the list says when each was last used, to the minute, and keeps expired ones for a month', async () => {
    const [first, second] = [await issue(1), await issue(2, 1)];
    const seen = async () => (await listApiTokens(session())).map(({ lastUsedAt }) => lastUsedAt);
    expect(await seen()).toEqual([null, null]);
    for (const laterMs of [0, minuteMs - 1]) await findApiToken(session(laterMs), first.token);
    await expect.poll(seen).toEqual([new Date(startMs).toISOString(), null]);
    await findApiToken(session(minuteMs), first.token);
    await expect.poll(seen).toEqual([new Date(startMs + minuteMs).toISOString(), null]);
    expect(await listApiTokens(session(dayMs))).toMatchObject([
      { id: first.id, state: 'expired' },
      { id: second.id, state: 'active' },
    ]);
    const third = await issue(40, 31 * dayMs + 1);
    expect((await listApiTokens(session(31 * dayMs))).map(({ id }) => id)).toEqual([second.id, third.id]);
  });

  test('the lifetime is a year at most', async () => {
    await expect(issue(0)).rejects.toThrow('is in the past');
    await expect(issue(367)).rejects.toThrow('a year at most');
    expect(await listApiTokens(session())).toEqual([]);
  });
});
