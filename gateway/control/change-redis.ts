import { errorMessage } from '#runtime/error-message.ts';
import type { Redis } from 'ioredis';
import { createAuditLog, type Change } from '../platform/redis/record-change.ts';
import { mastersOf, type RedisClient } from '../platform/redis/redis-client.ts';
import { isRedisConnectionLost } from '../platform/redis/redis-errors.ts';
import { infoNumber } from '../platform/redis/redis-memory.ts';
import { appendOnlyOff } from '../platform/redis/risky-settings.ts';
import { seedDefaults } from '../quota/seed-defaults.ts';
import { OperationFailure } from './invalid-operation.ts';
import type { ChangingSession, ReadingSession } from './session.ts';
import { publishChanges } from './webhooks/change-events.ts';

interface ChangeRedisOptions extends ReadingSession {
  /** Name of the person, for the audit log. */
  who: string;
  /** Why they make the change, perhaps with a ticket, for the audit log. */
  reason?: string | undefined;
  /** Risks of this Redis that its operator has been told of, which need no further warning. */
  knownRisks?: ReadonlySet<string>;
  /** Told once of each risk that Redis loses the change. */
  warn: (warning: string) => void;
}

export interface ChangeResult<T> {
  result: T;
  /** A change that Redis' disk or its replicas have not confirmed, in words: a restart or a failover may undo it. */
  unconfirmed: string | undefined;
}

/**
 * Runs an operation that changes something, in the name of a person, and waits until the change is on Redis' disk and on
 * its replicas. Seeds plans and ban policy as a gateway would, for a Redis that is set up before the first gateway runs.
 */
export async function changeRedis<T>(
  { redis, now, who, reason, knownRisks = new Set(), warn }: ChangeRedisOptions,
  use: (session: ChangingSession) => Promise<T>,
): Promise<ChangeResult<T>> {
  await seedDefaults(redis, who);
  const changed = new Set<string>();
  const made: Change[] = [];
  const audit = createAuditLog({
    redis,
    who,
    reason,
    onChange: ({ target }) => changed.add(target),
    onMade: (change) => made.push(change),
  });
  const warned = new Set(knownRisks);
  const warnOnce = (risk: string, text: string) => {
    if (!warned.has(risk)) warn(text);
    warned.add(risk);
  };
  const waitUntilDurable = () => assertDurable(redis, changed, warnOnce);
  const publish = () =>
    publishChanges(redis, made, now()).catch((error: unknown) =>
      warn(`an event of the change${named(changed)} was not published: ${errorMessage(error)}`),
    );
  let result: T;
  try {
    result = await use({ redis, audit, now, waitUntilDurable });
  } finally {
    // Also what an operation that fails has changed.
    await publish();
  }
  try {
    await waitUntilDurable();
    return { result, unconfirmed: await findUnconfirmed(redis, changed, warn) };
  } catch (error) {
    // The result may be a key that works already, and that nobody else has.
    return { result, unconfirmed: describeDoubt(error, changed) };
  }
}

function describeDoubt(error: unknown, changed: ReadonlySet<string>): string {
  if (error instanceof OperationFailure) return error.message;
  const cause = isRedisConnectionLost(error) ? 'it became unavailable' : errorMessage(error);
  return `the change${named(changed)} was made, but Redis did not confirm it: ${cause}`;
}

const memoryOnly = 'this Redis has no append-only file, so a restart loses the change';
/** Rules that were made for a Redis before 7.2, for example. */
const waitAofRefused =
  'the Redis user may not run WAITAOF, so it is unknown whether the change is on disk; see gateway/platform/redis/users.acl';

/** @throws OperationFailure if Redis does not confirm that the changes are on its disk */
async function assertDurable(
  redis: RedisClient,
  changed: ReadonlySet<string>,
  warnOnce: (risk: string, text: string) => void,
): Promise<void> {
  switch (await waitForDisk(redis)) {
    case 'durable':
    case 'unknown':
      return;
    case 'memory_only':
      return warnOnce(appendOnlyOff, memoryOnly);
    case 'not_permitted':
      return warnOnce(waitAofRefused, waitAofRefused);
    case 'unconfirmed':
      throw new OperationFailure(
        `the change${named(changed)} was made, but Redis did not confirm that it is on disk`,
      );
  }
}

const maxNamed = 10;

const named = (changed: ReadonlySet<string>) =>
  changed.size === 0 || changed.size > maxNamed ? '' : ` of ${[...changed].join(', ')}`;

async function findUnconfirmed(
  redis: RedisClient,
  changed: ReadonlySet<string>,
  warn: (warning: string) => void,
): Promise<string | undefined> {
  const replication = await waitForReplicas(redis);
  if (replication === undefined) {
    warn(
      'the Redis user may not run INFO and WAIT, so it is unknown whether replicas have the change; see gateway/platform/redis/users.acl',
    );
    return undefined;
  }
  const { replicas, confirmed } = replication;
  if (confirmed === replicas) return undefined;
  return (
    `${replicas - confirmed} of ${replicas} replicas of Redis have not confirmed the change${named(changed)}: ` +
    'it is in force, but a failover may undo it'
  );
}

/** Less than the connection's own timeout for a reply. */
const waitMs = 1500;
const maxAttempts = 4;

/**
 * - durable: on the disk of each master
 * - unconfirmed: Redis did not confirm it in time
 * - memory_only: Redis keeps no append-only file
 * - unknown: Redis is older than 7.2 and has no WAITAOF
 * - not_permitted: the Redis user may not run WAITAOF
 */
type Durability = 'durable' | 'unconfirmed' | 'memory_only' | 'unknown' | 'not_permitted';

/** Waits until all previous writes are in the append-only file on disk. */
async function waitForDisk(redis: RedisClient): Promise<Durability> {
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const replies = await Promise.all(
        mastersOf(redis).map((master) => master.call('WAITAOF', '1', '0', String(waitMs))),
      );
      if (replies.every((reply) => Array.isArray(reply) && Number(reply[0]) >= 1)) return 'durable';
    }
    return 'unconfirmed';
  } catch (error) {
    const message = errorMessage(error);
    if (/unknown command/i.test(message)) return 'unknown';
    if (/appendonly is disabled/i.test(message)) return 'memory_only';
    if (message.startsWith('NOPERM')) return 'not_permitted';
    throw error;
  }
}

/** How many of the replicas that are connected to a master have confirmed all previous writes. */
interface Replication {
  replicas: number;
  confirmed: number;
}

/**
 * Waits until all replicas have all previous writes, also those of other clients that this one has read.
 * @returns undefined if the Redis user may not ask
 */
async function waitForReplicas(redis: RedisClient): Promise<Replication | undefined> {
  try {
    const all = await Promise.all(mastersOf(redis).map(waitForReplicasOf));
    return {
      replicas: all.reduce((sum, { replicas }) => sum + replicas, 0),
      confirmed: all.reduce((sum, { confirmed }) => sum + confirmed, 0),
    };
  } catch (error) {
    if (errorMessage(error).startsWith('NOPERM')) return undefined;
    throw error;
  }
}

async function waitForReplicasOf(master: Redis): Promise<Replication> {
  const info = await master.info('replication');
  const replicas = infoNumber(info, 'connected_slaves');
  if (replicas === 0) return { replicas, confirmed: 0 };
  const confirmed = await master.wait(replicas, waitMs);
  return { replicas, confirmed: Math.min(confirmed, replicas) };
}
