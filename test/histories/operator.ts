import { hashApiKey } from '../../gateway/api-keys/api-key-format.ts';
import { addBan, liftBan } from '../../gateway/operations/bans.ts';
import { InvalidOperation } from '../../gateway/operations/invalid-operation.ts';
import { setPlan } from '../../gateway/operations/plans.ts';
import type { Session } from '../../gateway/operations/session.ts';
import { setSetting } from '../../gateway/operations/settings.ts';
import { banPolicySetting } from '../../gateway/quota/ban-policy.ts';
import { createAuditLog } from '../../gateway/redis/record-change.ts';
import type { RedisClient } from '../../gateway/redis/redis-client.ts';
import { keyIssuer, type IssuedKey } from '../support/kits/keys.ts';
import type { Change, History, OwnerLimits, Use } from './history.ts';
import type { PlannedChange, PlannedKey, Schedule } from './schedule.ts';
import { openMinute, ownerOf, readUse } from './stored-quota.ts';

/** One operator, who does one thing after another, and what they have done. */
export interface Operator {
  changes: Change[];
  owners: Record<string, OwnerLimits>;
  opened: History['opened'][number][];
  /** The present key of a name: a rotation replaces it. */
  keyOf(name: string): IssuedKey;
  /** Begins a change when those before are complete. */
  begin(change: PlannedChange): Promise<void>;
  use(): Promise<Record<string, Use>>;
}

/** Sets plans, policy and keys as a schedule begins. @param connect returns the present connection to Redis */
export async function createOperator(
  connect: () => Promise<RedisClient>,
  schedule: Schedule,
): Promise<Operator> {
  async function open() {
    const redis = await connect();
    const session: Session = { redis, audit: createAuditLog({ redis, who: 'histories' }), now: Date.now };
    return { session, ...keyIssuer(redis) };
  }
  const issued: IssuedKey[] = [];
  const present = new Map<string, IssuedKey>();
  const limitsOf = new Map<string, OwnerLimits>();
  const operator: Operator = {
    changes: [],
    owners: {},
    opened: [],
    keyOf(name) {
      const key = present.get(name);
      if (key === undefined) throw new Error(`no key ${name}`);
      return key;
    },
    begin(change) {
      turn = turn.then(() => make(change));
      return turn;
    },
    async use() {
      const { session } = await open();
      const use: Record<string, Use> = {};
      for (const key of issued) use[ownerOf(key)] ??= await readUse(session, key);
      return use;
    },
  };
  let turn: Promise<void> = Promise.resolve();

  function hold(name: string, key: IssuedKey, limits: OwnerLimits): void {
    issued.push(key);
    present.set(name, key);
    limitsOf.set(name, limits);
    operator.owners[ownerOf(key)] ??= limits;
  }

  async function make(change: PlannedChange): Promise<void> {
    const { session, store } = await open();
    const startMs = Date.now();
    /** What changed at the operation's end. @returns false if it was refused */
    const during = async (operation: () => Promise<unknown>, ...made: ChangeMade[]): Promise<boolean> => {
      let outcome: Change['outcome'] = 'made';
      try {
        await operation();
      } catch (error) {
        // Such as lifting no ban, or changing a revoked key.
        if (error instanceof InvalidOperation) return false;
        outcome = 'unknown';
      }
      const endMs = Date.now() + 1;
      for (const one of made) operator.changes.push({ ...one, startMs, endMs, outcome });
      return outcome === 'made';
    };
    if (change.does === 'set plan') {
      const { does, plan, limits } = change;
      await during(() => setPlan(session, plan, limits, false), { does, plan, limits });
      return;
    }
    const key = operator.keyOf(change.key);
    const { id } = key;
    switch (change.does) {
      case 'set limits': {
        const { does, limits } = change;
        const { plan, minute = null, day = null } = limits;
        const isMade = await during(() => store.change(id, { plan, minute, day }), {
          does,
          owner: ownerOf(key),
          limits,
        });
        if (isMade) limitsOf.set(change.key, limits);
        return;
      }
      case 'revoke':
        await during(() => store.revoke(id), { does: 'revoke', key: id });
        return;
      case 'rotate': {
        const rotate = async () => {
          const { key: text, record } = await store.rotate(id, change.graceMs);
          hold(
            change.key,
            { key: text, id: record.id, customerId: record.customerId, keyHash: hashApiKey(text) },
            limitsOf.get(change.key) ?? { plan: record.plan },
          );
        };
        await during(rotate, { does: 'expire', key: id, afterMs: change.graceMs });
        return;
      }
      case 'ban':
        await during(() => addBan(session, id, change.forMs, 'by an operator'), {
          does: 'ban',
          key: id,
          forMs: change.forMs,
        });
        return;
      case 'lift':
        await during(() => liftBan(session, id), { does: 'lift', key: id });
    }
  }

  const { session, issue } = await open();
  await setPlan(session, 'anonymous', { minute: 1_000_000 }, true);
  for (const [name, limits] of Object.entries(schedule.plans)) await setPlan(session, name, limits, true);
  await setSetting(session, banPolicySetting, schedule.policy);
  for (const planned of schedule.keys) hold(planned.name, await issuePlanned(planned), limitsIn(planned));

  async function issuePlanned({ name, plan, minute, day, opened }: PlannedKey): Promise<IssuedKey> {
    const key = await issue({ name, plan, ...(minute && { minute }), ...(day && { day }) });
    if (opened !== undefined)
      operator.opened.push({
        ...(await openMinute(session, key, opened)),
        owner: ownerOf(key),
        used: opened.used,
      });
    return key;
  }
  return operator;
}

type ChangeMade = Change extends infer One
  ? One extends Change
    ? Omit<One, 'startMs' | 'endMs' | 'outcome'>
    : never
  : never;

function limitsIn({ plan, minute, day }: OwnerLimits): OwnerLimits {
  return { plan, ...(minute === undefined ? {} : { minute }), ...(day === undefined ? {} : { day }) };
}
