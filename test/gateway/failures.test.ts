import { describe, expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { createFailureReports, readFailures } from '../../gateway/quota/failures.ts';
import { startRedisClient } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';

const failed = (requestId: string, code: string | null = 'not_found', status = 404) => ({
  requestId,
  code,
  status,
  method: 'GET',
  route: '/v1/pets/{petId}',
  keyId: 'key_1',
});

describe('the last failed requests of a customer', () => {
  let nowMs = Date.now();
  const now = () => nowMs;

  const redis = shared(startRedisClient);

  const create = () => createFailureReports({ redis, now });
  const read = (id: `cus_${string}`) => readFailures({ redis, now }, id);

  test('are the latest of each code, from all processes, so that a flood of one hides no other', async () => {
    const [one, other] = [create(), create()];
    one.add('cus_flood', failed('first', 'payload_too_large', 413));
    for (let index = 0; index < 1000; index += 1) {
      nowMs += 1;
      (index % 2 === 0 ? one : other).add('cus_flood', failed(`r${index}`, 'rate_limit_exceeded', 429));
    }
    other.add('cus_other', failed('elsewhere'));
    await Promise.all([one.report(), other.report()]);
    const failures = await read('cus_flood');
    const ids = failures.map(({ requestId }) => requestId);
    expect(ids).toEqual(['r999', 'r998', 'r997', 'r996', 'r995', 'first']);
    const at = new Date(nowMs - 1000).toISOString();
    expect(failures.at(-1)).toEqual({ ...failed('first', 'payload_too_large', 413), at });
    // Nothing is sent twice.
    await one.report();
    expect(await read('cus_flood')).toEqual(failures);
    expect(await read('cus_other')).toMatchObject([{ requestId: 'elsewhere' }]);
  });

  test('have no code if a service has sent the response', async () => {
    const reports = create();
    reports.add('cus_service', failed('r1', null, 422));
    await reports.report();
    expect(await read('cus_service')).toMatchObject([{ code: null, status: 422, route: '/v1/pets/{petId}' }]);
  });

  test('are forgotten after seven days', async () => {
    const reports = create();
    reports.add('cus_old', failed('r1'));
    await reports.report();
    const leftMs = await redis.pttl(redisKeys.failures('cus_old'));
    expect(Math.round(leftMs / 86_400_000)).toBe(7);
    nowMs += 7 * 86_400_000 + 1;
    expect(await read('cus_old')).toEqual([]);
  });
});
