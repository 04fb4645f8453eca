import { z } from 'zod';
import { verbOf } from '../../platform/redis/audit-actions.ts';
import { timeInput } from '../keys/key-input.ts';
import { countInput, nextInput, pageOf } from '../list-schemas.ts';
import { read } from '../operation.ts';
import type { Session } from '../session.ts';
import {
  auditTargets,
  changedFields,
  nameTargets,
  readAuditNewer,
  readAuditPage,
  readLatestAuditId,
  type AuditFilter,
  type NamedEntry,
} from './audit-log.ts';

const text = z.string().min(1).max(100);
const entryId = /^\d{1,15}-\d{1,19}$/;
const noEntry = { error: 'is not the id of an entry' };

const query = z
  .strictObject({
    action: text.optional().describe('Action or its beginning, such as `keys` or `plans.set`'),
    who: text.optional().describe('Name of the person'),
    target: text.optional().describe('Id of a customer, with its keys, or of a key, or name of a plan'),
    since: timeInput.optional().describe('Not before this time'),
    until: timeInput.optional().describe('Before this time'),
    // Nothing is before the least id that there can be, which Redis refuses as an exclusive end.
    after: nextInput
      .regex(entryId, noEntry)
      .refine((id) => !/^0+-0+$/.test(id), noEntry)
      .optional(),
    newerThan: z.string().regex(entryId, noEntry).optional().describe('`latest` of an earlier response'),
    limit: countInput(200, 50),
  })
  .refine(({ since, until }) => since === undefined || until === undefined || since < until, {
    path: ['since'],
    error: 'is not before until',
  })
  .refine(({ after, newerThan }) => after === undefined || newerThan === undefined, {
    path: ['newerThan'],
    error: 'cannot be combined with after',
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
  changes: z
    .array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() }))
    .describe('Fields that have changed. Null is a field that there was not, or is no more.'),
});

/** Entries to look at for a page. With a filter that few match, it is one part of the search: the client asks on. */
const maxScanned = 5000;

/** Changes by operators, newest first. */
export const auditOperations = [
  read({
    operationId: 'listAuditEntries',
    http: 'GET /audit',
    summary: 'Changes by operators, newest first',
    description:
      'A page may have fewer entries than asked for, or none, and a `next` all the same: then the search goes on from ' +
      'there. With `newerThan`, the entries after that one, of which `latest` is the last one that was looked at.',
    input: query,
    responds: 'Entries',
    result: pageOf(entrySchema)
      .extend({ latest: z.string().describe('Id of the newest entry that was looked at') })
      .meta({
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
                changes: [{ field: 'minute', before: 300, after: 600 }],
              },
            ],
            next: null,
            latest: '1795403857484-0',
          },
        ],
      }),
    async run(session, { input: { after, newerThan, limit, ...conditions } }) {
      const readFilter = () => filterOf(session, conditions);
      if (newerThan !== undefined) {
        const { entries, latest } = await readAuditNewer(session.redis, newerThan, readFilter);
        const newest = await nameTargets(entries.toReversed(), session);
        return { items: newest.map(viewEntry), next: null, latest };
      }
      // Before the page: an entry in between is then new to the client, and not missing.
      const latest = await readLatestAuditId(session.redis);
      const options = { filter: await readFilter(), count: limit, before: after, maxScanned };
      const { entries, next } = await readAuditPage(session.redis, options);
      const named = await nameTargets(entries, session);
      return { items: named.map(viewEntry), next, latest };
    },
  }),
];

type Conditions = Omit<z.infer<typeof query>, 'after' | 'newerThan' | 'limit'>;

async function filterOf(session: Session, { target, ...rest }: Conditions): Promise<AuditFilter> {
  return { ...rest, targets: target === undefined ? undefined : await auditTargets(target, session) };
}

/** The entry, and what it has changed field by field. */
function viewEntry({ before: from, after: to, ...entry }: NamedEntry): z.infer<typeof entrySchema> {
  const changes = changedFields(from, to).map(({ field, before = null, after = null }) => ({
    field,
    before,
    after,
  }));
  return { ...entry, verb: verbOf(entry.action), changes };
}
