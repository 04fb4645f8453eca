import { addBan, liftBan } from '../../gateway/control/bans/bans.ts';
import { resumeCustomer, suspendCustomer } from '../../gateway/control/customers/customers.ts';
import { InvalidOperation } from '../../gateway/control/invalid-operation.ts';
import { setPlan } from '../../gateway/control/plans/plans.ts';
import { changePolicy } from '../../gateway/control/plans/policy-operations.ts';
import type { Session } from '../../gateway/control/session.ts';
import { hashApiKey } from '../../gateway/keys/api-key-format.ts';
import type { RedisClient } from '../../gateway/platform/redis/redis-client.ts';
import { send } from '../support/http/http.ts';
import { keyIssuer, sessionOf, type IssuedKey } from '../support/kits/keys.ts';
import type { Change, ChangeMade, History, OwnerLimits, Use } from './history.ts';
import { createPortalCustomers } from './portal-customer.ts';
import type { PlannedChange, PlannedKey, Schedule } from './schedule.ts';
import { isEnforced, openMinute, ownerOf, readUse, waitUntil } from './stored-quota.ts';

/** Gateways report every 5 s, and read settings twice a second. */
const reportMs = 15_000;

/** One operator and the customers in the portal, who do one thing after another, and what they have done. */
export interface Operator {
  changes: Change[];
  owners: Record<string, OwnerLimits>;
  opened: History['opened'][number][];
  /** The present key of a name: a rotation replaces it. */
  keyOf(name: string): IssuedKey;
  /** Begins a change when those before are complete. */
  begin(change: PlannedChange): Promise<void>;
  use(): Promise<Record<string, Use>>;
  /** Resolves when each gateway has added what it has counted to the record of use. */
  untilReported(): Promise<void>;
}

interface OperatorOptions {
  /** Returns the present connection to Redis. */
  connect: () => Promise<RedisClient>;
  /** Of the gateways. */
  urls: readonly string[];
  schedule: Schedule;
}

/** Sets plans, policy and keys as a schedule begins. */
export async function createOperator({ connect, urls, schedule }: OperatorOptions): Promise<Operator> {
  const portal = createPortalCustomers(urls, connect);
  async function open() {
    const redis = await connect();
    const session: Session = sessionOf(redis, 'histories');
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
    async untilReported() {
      const { session } = await open();
      // One report has what was counted before it.
      await Promise.all(urls.map((url) => send(`${url}/v1/pets`, { key: banned.key })));
      await waitUntil(async () => (await readUse(session, banned)).refused >= urls.length, reportMs);
    },
  };
  let turn: Promise<void> = Promise.resolve();

  function hold(name: string, key: IssuedKey, limits: OwnerLimits, startMs: number): void {
    const endMs = Date.now() + 1;
    const owner = ownerOf(key);
    operator.changes.push({ does: 'create', owner, key: key.id, startMs, endMs, outcome: 'made' });
    issued.push(key);
    present.set(name, key);
    limitsOf.set(name, limits);
    operator.owners[owner] ??= limits;
  }

  async function make(change: PlannedChange): Promise<void> {
    const { session, store } = await open();
    const startMs = Date.now();
    /** What changed at the operation's end, unless it was refused. */
    const during = async (operation: () => Promise<unknown>, ...made: ChangeMade[]) => {
      let outcome: Change['outcome'] = 'made';
      try {
        await operation();
      } catch (error) {
        // such as lifting no ban, or rotating a revoked key.
        if (error instanceof InvalidOperation) return 'refused';
        outcome = 'unknown';
      }
      const endMs = Date.now() + 1;
      for (const one of made) operator.changes.push({ ...one, startMs, endMs, outcome });
      return outcome;
    };
    if (change.does === 'set plan') {
      const { does, plan, limits } = change;
      await during(() => setPlan(session, plan, limits, false), { does, plan, limits });
      return;
    }
    const key = operator.keyOf(change.key);
    const { id } = key;
    const owner = ownerOf(key);
    /** A key that takes the place of the present one of its name. */
    const issueNext = async (operation: () => Promise<IssuedKey>, ...made: ChangeMade[]) => {
      const limits = limitsOf.get(change.key) ?? { plan: '' };
      const outcome = await during(async () => hold(change.key, await operation(), limits, startMs), ...made);
      if (outcome === 'unknown')
        operator.changes.push({ does: 'create', owner, startMs, endMs: Date.now() + 1, outcome });
    };
    switch (change.does) {
      case 'set limits': {
        const { does, limits } = change;
        const wanted = { minute: null, day: null, ...limits };
        const set = () => store.changeCustomer(key.customerId, wanted);
        const outcome = await during(set, { does, owner, limits });
        if (outcome === 'made') limitsOf.set(change.key, limits);
        return;
      }
      case 'revoke':
        await during(() => store.revoke(id), { does: 'revoke', key: id });
        return;
      case 'rotate': {
        const rotate = async () => {
          const { key: text, record } = await store.rotate(id, change.graceMs);
          return { key: text, id: record.id, customerId: record.customerId, keyHash: hashApiKey(text) };
        };
        await issueNext(rotate, { does: 'expire', key: id, afterMs: change.graceMs });
        return;
      }
      case 'create in portal':
        await issueNext(() => portal.issue(change.gateway, key, '', { name: change.key }));
        return;
      case 'rotate in portal': {
        const body = { graceSeconds: change.graceMs / 1000 };
        const rotate = () => portal.issue(change.gateway, key, `/${id}/rotate`, body);
        await issueNext(rotate, { does: 'expire', key: id, afterMs: change.graceMs });
        return;
      }
      case 'revoke in portal':
        await during(() => portal.change(change.gateway, key, `/${id}/revoke`), { does: 'revoke', key: id });
        return;
      case 'suspend':
        await during(() => suspendCustomer(session, owner), { does: 'suspend', owner });
        return;
      case 'resume':
        await during(() => resumeCustomer(session, owner), { does: 'resume', owner });
        return;
      case 'ban': {
        const { does, forMs } = change;
        await during(() => addBan(session, id, forMs, 'by an operator'), { does, key: id, forMs });
        return;
      }
      case 'lift':
        await during(() => liftBan(session, id), { does: 'lift', key: id });
    }
  }

  const { session, issue } = await open();
  for (const [name, limits] of Object.entries(schedule.plans)) await setPlan(session, name, limits, true);
  await changePolicy(session, { ...schedule.policy, anonymousMinute: 1_000_000 });
  await waitUntil(() => isEnforced(session.redis, urls.length, schedule), reportMs);
  const banned = await issue({ plan: 'small' });
  await addBan(session, banned.id, 3_600_000, 'whose refusals show that all are reported');
  for (const planned of schedule.keys) {
    const startMs = Date.now();
    hold(planned.name, await issuePlanned(planned), limitsIn(planned), startMs);
  }
  for (const key of present.values()) await portal.enter(ownerOf(key));

  async function issuePlanned({ name, plan, minute, day, opened }: PlannedKey): Promise<IssuedKey> {
    const key = await issue({ name, plan, ...(minute && { minute }), ...(day && { day }) });
    if (opened === undefined) return key;
    const ending = await openMinute(session, key, opened);
    operator.opened.push({ ...ending, owner: ownerOf(key), used: opened.used });
    return key;
  }
  return operator;
}

function limitsIn({ plan, minute, day }: OwnerLimits): OwnerLimits {
  return { plan, ...(minute === undefined ? {} : { minute }), ...(day === undefined ? {} : { day }) };
}
