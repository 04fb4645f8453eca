import { z } from 'zod';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import { isCustomerId } from '../../platform/redis/redis-keys.ts';
import { findCustomer } from '../customers/stored-customers.ts';
import { timeInput } from '../keys/key-input.ts';
import { findStoredKey } from '../keys/stored-keys.ts';
import { countInput, nextInput, pageOf } from '../list-schemas.ts';
import { list } from '../operation.ts';
import type { Session } from '../session.ts';
import {
  auditTargets,
  changedFields,
  fieldsOf,
  readAudit,
  readAuditPage,
  readAuditPages,
  type AuditEntry,
  type AuditFilter,
} from './audit-log.ts';

const text = z.string().min(1).max(100);
const entryId = /^\d{1,15}-\d{1,19}$/;
const usualCount = 50;
const noEntry = { error: 'is not the id of an entry' };

/** Verbs by the actions of the audit log. */
export type AuditVerbs = ReadonlyMap<string, string>;

/** What the names of actions begin with: what they concern. */
export const groupsOf = (verbs: AuditVerbs) => [
  ...new Set([...verbs.keys()].map((action) => action.replace(/\..+/, ''))),
];

const queryInput = (verbs: AuditVerbs) =>
  z
    .strictObject({
      // An unknown one is refused, since an empty list would be taken for the answer that nobody did it.
      action: text
        .refine((beginning) => verbs.keys().some((action) => action.startsWith(beginning)), {
          error: `is the beginning of no action; they begin with ${groupsOf(verbs).join(', ')}`,
        })
        .optional()
        .describe('Action or its beginning, such as `keys` or `plans.set`'),
      who: text.optional().describe('Name of a person or program, or id of its token'),
      target: text.optional().describe('Id of a customer, with its keys, or of a key, or name of a plan'),
      since: timeInput.optional().describe('Not before this time'),
      until: timeInput.optional().describe('Before this time'),
      // Nothing is before the least id that there can be, which Redis refuses as an exclusive end.
      after: nextInput
        .regex(entryId, noEntry)
        .refine((id) => !/^0+-0+$/.test(id), noEntry)
        .optional(),
      limit: countInput(200, usualCount).unwrap().optional(),
    })
    .refine(({ since, until }) => since === undefined || until === undefined || since < until, {
      path: ['since'],
      error: 'is not before until',
    });

export const entrySchema = z.object({
  id: z.string(),
  at: z.string().describe('ISO 8601 in UTC, by the clock of Redis'),
  who: z.string(),
  action: z.string(),
  verb: z.string().describe('The action in words, before its target'),
  target: z.string(),
  targetName: z.string().nullable().describe('Name of the target, if the target is an id'),
  targetHint: z.string().nullable().describe('Its first characters'),
  reason: z.string().optional().describe('Why, in the words of the person'),
  notMade: z
    .string()
    .optional()
    .describe('Id of an earlier entry, whose change was not made: this one says so'),
  before: z.unknown(),
  after: z.unknown(),
  changes: z
    .array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() }))
    .describe('Fields that have changed. Null is a field that there was not, or is no more.'),
});

/** Entries to look at for a page. With a filter that few match, it is one part of the search: the client asks on. */
const maxScanned = 5000;

type Entry = z.infer<typeof entrySchema>;

/** Changes by operators, newest first. */
export const auditOperations = (verbs: AuditVerbs) => [
  list({
    operationId: 'listAuditEntries',
    http: 'GET /audit',
    command: {
      usage: 'audit',
      says: 'changes by operators, oldest first; with several conditions, those that meet all of them',
      examples: ['audit --since 2h', 'audit --target key_282dd48c706990d481'],
      options: {
        since: {
          flags: '--since <time>',
          says: 'not before a time, ISO 8601, or a duration ago such as 2h',
          from: 'time ago',
        },
        until: { flags: '--until <time>', says: 'before a time, or a duration ago', from: 'time ago' },
        limit: { flags: '--count <n>', says: `newest entries (default: ${usualCount}; all with --since)` },
      },
      columns: {
        AT: 'at',
        WHO: 'who',
        ACTION: 'action',
        TARGET: ({ target, targetName, targetHint }) =>
          [target, ...[targetName, targetHint].filter((part) => part)].join(', '),
        CHANGE: describeChange,
      },
      csv: [
        ...(['id', 'at', 'who', 'action', 'target', 'before', 'after'] as const),
        ...(['notMade', 'reason', 'targetName', 'targetHint'] as const),
      ],
    },
    summary: 'Changes by operators, newest first',
    description:
      'A page may have fewer entries than asked for, or none, and a `next` all the same: then the search goes on from there.',
    input: queryInput(verbs),
    responds: 'Entries',
    result: pageOf(entrySchema).meta({
      id: 'AuditPage',
      examples: [
        {
          items: [
            {
              id: '1795403857484-0',
              at: '2026-11-23T03:17:37.484Z',
              who: 'ada',
              action: 'plans.set',
              verb: 'changed the plan',
              target: 'pro',
              targetName: null,
              targetHint: null,
              before: { name: 'pro', minute: 300 },
              after: { name: 'pro', minute: 600 },
              changes: [{ field: 'minute', before: 300, after: 600 }],
            },
          ],
          next: null,
        },
      ],
    }),
    async *run(session, { input: { limit, after: _after, ...conditions } }) {
      const filter = await filterOf(session, conditions);
      const pages =
        limit === undefined && filter.since !== undefined
          ? readAuditPages(session.redis, filter)
          : [await readAudit(session.redis, limit ?? usualCount, filter)];
      for await (const page of pages) yield viewEntries(session, page, verbs);
    },
    async page(session, { input: { after, limit: count = usualCount, ...conditions } }) {
      const filter = await filterOf(session, conditions);
      const { entries, next } = await readAuditPage(session.redis, {
        filter,
        count,
        before: after,
        maxScanned,
      });
      return { items: await viewEntries(session, entries, verbs), next };
    },
  }),
];

type Conditions = Omit<z.infer<ReturnType<typeof queryInput>>, 'after' | 'limit'>;

async function filterOf(session: Session, { target, ...rest }: Conditions): Promise<AuditFilter> {
  return { ...rest, targets: target === undefined ? undefined : await auditTargets(target, session) };
}

/**
 * Entries with what each has changed, field by field, and with the name and hint of its target. Each record is read once; of one
 * that is gone, the entry itself has the name.
 */
async function viewEntries(
  { redis }: Session,
  entries: readonly AuditEntry[],
  verbs: AuditVerbs,
): Promise<Entry[]> {
  const ids = new Set(entries.map(({ target }) => target));
  const records = new Map(
    await Promise.all(Array.from(ids, async (id) => [id, await recordOf(redis, id)] as const)),
  );
  return entries.map((entry) => {
    const { action, target, before, after } = entry;
    const known = { ...fieldsOf(before), ...fieldsOf(after), ...fieldsOf(records.get(target)) };
    const text = (value: unknown) => (namedById.test(target) && typeof value === 'string' ? value : null);
    return Object.assign({}, entry, {
      // An action of another version stays as it is.
      verb: verbs.get(action) ?? action,
      targetName: text(known['name']),
      targetHint: text(known['hint']),
      changes: changedFields(before, after).map(({ field, before: old = null, after: present = null }) => ({
        field,
        before: old,
        after: present,
      })),
    });
  });
}

/** Targets that are no name by themselves. */
const namedById = /^(?:key|cus|token|console)_/;

async function recordOf(redis: RedisClient, id: string): Promise<object | undefined> {
  if (isCustomerId(id)) return findCustomer(redis, id);
  return id.startsWith('key_') ? (await findStoredKey(redis, id))?.record : undefined;
}

const shown = (value: unknown) => (value === null ? '-' : JSON.stringify(value));

/** The changed fields and the reason, as in `plan: "free" -> "pro"; reason: ticket 814`. */
function describeChange({ changes, notMade, reason }: Entry): string {
  const fields = changes.map(({ field, before, after }) => `${field}: ${shown(before)} -> ${shown(after)}`);
  const change = `${notMade === undefined ? '' : 'not made: '}${fields.join(', ')}`;
  return [change, reason === undefined ? '' : `reason: ${reason}`].filter((part) => part !== '').join('; ');
}
