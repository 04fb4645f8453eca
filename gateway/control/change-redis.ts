import { errorMessage } from '#runtime/error-message.ts';
import type { Redis } from 'ioredis';
import { createAuditLog, type Change } from '../platform/redis/record-change.ts';
import { mastersOf, type RedisClient } from '../platform/redis/redis-client.ts';
import { isRedisConnectionLost } from '../platform/redis/redis-errors.ts';
import { infoNumber } from '../platform/redis/redis-memory.ts';
import { seedDefaults } from '../quota/default-settings.ts';
import { OperationFailure } from './invalid-operation.ts';
import type { ReadingSession, Session } from './session.ts';
import { publishChanges } from './webhooks/change-events.ts';

interface ChangeRedisOptions extends ReadingSession {
  /** Name of the person, for the audit log. */
  who: string;
  /** Why they make the change, perhaps with a ticket, for the audit log. */
  reason?: string | undefined;
  /** Whether a gateway runs this Redis itself, and has logged what may be lost. */
  isPrivate?: boolean;
  /** Told of what may be lost. */
  warn: (warning: string) => void;
}

/**
 * Runs an operation that changes something, in the name of a person, and waits until the change is on Redis' disk and on
 * its replicas. Seeds plans and ban policy as a gateway would, for a Redis that is set up before the first gateway runs.
 * @returns unconfirmed: a change that Redis' disk or its replicas have not confirmed, in words: a restart or a failover may undo it
 */
export async function changeRedis<T>(
  { redis, now, who, reason, isPrivate = false, warn }: ChangeRedisOptions,
  use: (session: Session) => Promise<T>,
): Promise<{ result: T; unconfirmed: string | undefined }> {
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
  const publish = () =>
    publishChanges(redis, made, now()).catch((error: unknown) =>
      warn(`an event of the change${named(changed)} was not published: ${errorMessage(error)}`),
    );
  let result: T;
  try {
    result = await use({ redis, audit, now });
  } finally {
    // Also what an operation that fails has changed.
    await publish();
  }
  try {
    if (!(await isDurable(redis, changed)) && !isPrivate) warn(memoryOnly);
    return { result, unconfirmed: await findUnconfirmed(redis, changed) };
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

/** Less than the connection's own timeout for a reply. */
const waitMs = 1500;
const maxAttempts = 4;

/**
 * Whether Redis keeps all previous writes in an append-only file.
 * @throws OperationFailure if it does not confirm that they are in it on disk
 */
async function isDurable(redis: RedisClient, changed: ReadonlySet<string>): Promise<boolean> {
  try {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const replies = await Promise.all(
        mastersOf(redis).map((master) => master.call('WAITAOF', '1', '0', String(waitMs))),
      );
      if (replies.every((reply) => Array.isArray(reply) && Number(reply[0]) >= 1)) return true;
    }
  } catch (error) {
    const message = errorMessage(error);
    if (/appendonly is disabled/i.test(message)) return false;
    // Redis before 7.2 has no such command.
    if (/unknown command/i.test(message)) return true;
    throw error;
  }
  throw new OperationFailure(
    `the change${named(changed)} was made, but Redis did not confirm that it is on disk`,
  );
}

const maxNamed = 10;

const named = (changed: ReadonlySet<string>) =>
  changed.size === 0 || changed.size > maxNamed ? '' : ` of ${[...changed].join(', ')}`;

/** Waits until all replicas have all previous writes, also those of other clients that this one has read. */
async function findUnconfirmed(redis: RedisClient, changed: ReadonlySet<string>) {
  if ((await Promise.all(mastersOf(redis).map(isReplicated))).every(Boolean)) return undefined;
  return `a replica of Redis has not confirmed the change${named(changed)}: it is in force, but a failover may undo it`;
}

async function isReplicated(master: Redis): Promise<boolean> {
  const replicas = infoNumber(await master.info('replication'), 'connected_slaves');
  return replicas === 0 || (await master.wait(replicas, waitMs)) >= replicas;
}
