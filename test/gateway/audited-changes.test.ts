import { beforeAll, describe, expect, test } from 'vitest';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { addBan, liftBan } from '../../gateway/control/bans/bans.ts';
import { rotateKey } from '../../gateway/control/keys/keys.ts';
import { settingsOf } from '../../gateway/control/plans/plans-file.ts';
import { removePlan, setPlan } from '../../gateway/control/plans/plans.ts';
import { diffSettings, readStored, writeSettings } from '../../gateway/control/plans/settings.ts';
import type { Session } from '../../gateway/control/session.ts';
import type { AuditLog } from '../../gateway/platform/redis/record-change.ts';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { freePort } from '../support/http/free-port.ts';
import { connectRedis, keyIssuer, sessionOf, startRedisClient } from '../support/kits/keys.ts';
import { shared } from '../support/kits/shared.ts';
import { startRedisRelay } from '../support/stores/redis-relay.ts';

describe('a change and its entry in the audit log are one step', () => {
  const redis = shared(startRedisClient);
  beforeAll(async () => {
    await redis.hset(redisKeys.plan('free'), { minute: 60, day: 1000 });
  });

  /** The embedded Redis asks for a password. */
  const connectThrough = ({ port }: { port: number }) =>
    connectRedis(Object.assign(new URL(redis.url), { port }).href);
  const startRelay = () => startRedisRelay(Number(new URL(redis.url).port));

  async function changesTo(plan: string, minute: number) {
    const wanted = settingsOf({ plans: { [plan]: { minute, day: 900 } } });
    return diffSettings(await readStored(redis, wanted), wanted);
  }

  const entriesOf = async (target: string) =>
    (await readAudit(redis, 100, { targets: [target] })).map(({ action, after }) => ({ action, after }));
  const actionsOf = async (target: string) => (await entriesOf(target)).map(({ action }) => action);

  test('the loser of two who apply a file has no entry', async () => {
    const session = sessionOf(redis);
    await redis.hset(redisKeys.plan('raced'), { minute: 10, day: 900 });
    const [first, second] = await Promise.all([changesTo('raced', 20), changesTo('raced', 30)]);
    await writeSettings(session, first);
    await expect(writeSettings(session, second)).rejects.toThrow('somebody else has changed the settings');
    expect(await entriesOf('raced')).toEqual([
      { action: 'plans.set', after: { name: 'raced', minute: 20, day: 900 } },
    ]);
  });

  test('a plan that is made is listed, also if Redis is lost at once', async () => {
    await using relay = await startRelay();
    const make = (session: Session) => setPlan(session, 'halfway', { minute: 10, day: 900 }, true);
    // Once before, so that Redis knows the script.
    await make(sessionOf(redis));
    await removePlan(sessionOf(redis), 'halfway');
    using relayed = await connectThrough(relay);
    relay.loseReplyTo('plans.set');
    await expect(make(sessionOf(relayed))).rejects.toThrow(/closed|retries/);
    expect(await redis.hgetall(redisKeys.plan('halfway'))).toEqual({ minute: '10', day: '900' });
    expect(await redis.smembers(redisKeys.planNames)).toContain('halfway');
  });

  test('of two who change a key at once, each has one entry', async () => {
    const { store, issue } = keyIssuer(redis);
    const { id } = await issue();
    await Promise.all([store.change(id, { name: 'Renamed' }), store.change(id, { scopes: null })]);
    expect(await actionsOf(id)).toEqual(['keys.issue', 'keys.set', 'keys.set']);
  });

  test('of many who issue keys of a customer at once, those who are always overtaken say so, and change nothing', async () => {
    const { store, issue } = keyIssuer(redis);
    const { customerId } = await issue();
    const before = await redis.hlen(redisKeys.apiKeyIds);
    const [issued, refused] = [new Set<string>(), new Set<string>()];
    const issueOne = () =>
      store.issueFor(customerId, {}).then(
        ({ record }) => issued.add(record.id),
        (error: unknown) => refused.add(String(error)),
      );
    await Promise.all(Array.from({ length: 40 }, issueOne));
    const message = `OvertakenChange: the customer ${customerId} keeps being changed by others; try again`;
    expect([...refused]).toEqual([message]);
    const entries = await readAudit(redis, 1000, { action: 'keys.issue' });
    expect(entries.filter(({ target }) => issued.has(target)).length).toBe(issued.size);
    // Each has one id, however many attempts it took.
    expect(await redis.hlen(redisKeys.apiKeyIds)).toBeLessThanOrEqual(before + 40);
  });

  test('a rotation during which Redis was lost says how to go on, and the next one as well', async () => {
    await using relay = await startRelay();
    using relayed = await connectThrough(relay);
    const { store, issue } = keyIssuer(redis);
    const { id } = await issue();
    const session = sessionOf(relayed);
    const direct = sessionOf(redis).audit;
    const make: AuditLog['make'] = async (changes, call) => {
      if (changes[0]?.action !== 'keys.rotate') return direct.make(changes, call);
      await direct.make(changes, call);
      relay.switchTo(await freePort());
      return relayed.setFieldsAudited(0, []);
    };
    const audit = Object.assign(session.audit, { make });
    await expect(rotateKey({ ...session, audit }, id, 0)).rejects.toThrow(
      /^Redis became unavailable while key_\w+ was being replaced by key_\w+, whose key nobody has got;/,
    );
    const { replacedBy = '' } = (await store.show(id)).record;
    await expect(store.rotate(id, 0)).rejects.toThrow(
      `the key ${id} has been replaced by ${replacedBy} already; if nobody has got that key, rotate ${replacedBy} with a`,
    );
    expect((await store.rotate(replacedBy, 0)).record).toMatchObject({ replaces: replacedBy, plan: 'free' });
  });

  test('a ban that has just ended is not lifted, and there is no entry of it', async () => {
    const { issue } = keyIssuer(redis);
    const place = await issue();
    const keys = [redisKeys.ban(place), redisKeys.strikes(place)];
    const args = [1, redisKeys.audit, JSON.stringify([['*', 'action', 'bans.lift', 'target', place.id]])];
    await redis.hset(redisKeys.strikes(place), 'count', 1);
    expect(await redis.liftBanAudited(keys.length, [...keys, ...args])).toBe(0);
    expect(await redis.exists(redisKeys.strikes(place))).toBe(1);
    await redis.set(redisKeys.ban(place), 'flood', 'PX', 60_000);
    expect(await redis.liftBanAudited(keys.length, [...keys, ...args])).toBe(1);
    expect(await redis.exists(...keys)).toBe(0);
    expect(await actionsOf(place.id)).toEqual(['keys.issue', 'bans.lift']);
  });

  test('nothing is changed if the log was edited into another type of value', async () => {
    const { store, issue } = keyIssuer(redis);
    const session = sessionOf(redis);
    const { id, customerId, keyHash } = await issue();
    await redis.rename(redisKeys.audit, 'kept');
    await redis.set(redisKeys.audit, 'edited');
    await expect(addBan(session, id, 60_000, 'flood')).rejects.toThrow('WRONGTYPE');
    await expect(store.revoke(id)).rejects.toThrow('WRONGTYPE');
    await redis.rename('kept', redisKeys.audit);
    expect(await redis.exists(redisKeys.ban({ customerId, keyHash }))).toBe(0);
    expect((await store.show(id)).record.revokedAt).toBeUndefined();
    await addBan(session, id, 60_000, 'flood');
    await liftBan(session, id);
    expect(await actionsOf(id)).toEqual(['keys.issue', 'bans.add', 'bans.lift']);
  });
});
