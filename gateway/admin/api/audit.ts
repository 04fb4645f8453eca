import { Router } from 'express';
import { z } from 'zod';
import { changedFields } from '../../operations/audit-changes.ts';
import { auditTargets, type AuditFilter } from '../../operations/audit-filter.ts';
import { readAuditNewer, readAuditPage, readLatestAuditId } from '../../operations/audit-log.ts';
import { nameTargets, type NamedEntry } from '../../operations/audit-names.ts';
import type { Session } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';

const text = z.string().min(1).max(100).optional();
const time = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], { error: 'is not a time in ISO 8601' })
  .transform((text) => new Date(text))
  .optional();
const entryId = z
  .string()
  .regex(/^\d{1,15}-\d{1,19}$/, { error: 'is not the id of an entry' })
  .optional();
/** Nothing is before the least id that there can be, which Redis refuses as an exclusive end. */
const isLeastId = (id: string | undefined) => id !== undefined && /^0+-0+$/.test(id);
const query = z
  .strictObject({
    action: text,
    who: text,
    target: text,
    since: time,
    until: time,
    after: entryId.refine((id) => !isLeastId(id), { error: 'is not the id of an entry' }),
    newerThan: entryId,
    limit: z.coerce.number().int().min(1).max(200).default(50),
  })
  .refine(({ since, until }) => since === undefined || until === undefined || since < until, {
    path: ['since'],
    error: 'is not before until',
  })
  .refine(({ after, newerThan }) => after === undefined || newerThan === undefined, {
    path: ['newerThan'],
    error: 'cannot be combined with after',
  });

/** Entries to look at for a page. With a filter that few match, it is one part of the search: the client asks on. */
const maxScanned = 5000;

/** Changes by operators, newest first. */
export function auditApi({ search }: ApiDependencies): Router {
  const router = Router();

  router.get('/audit', async (req, res) => {
    const { after, newerThan, limit, ...conditions } = query.parse(req.query);
    res.json(
      await search(req, async (session) => {
        const filter = await filterOf(session, conditions);
        if (newerThan !== undefined) {
          const { entries, latest } = await readAuditNewer(session.redis, newerThan, filter);
          const newest = await nameTargets(entries.toReversed(), session);
          return { items: newest.map(viewEntry), next: null, latest };
        }
        // Before the page: an entry in between is then new to the client, and not missing.
        const latest = await readLatestAuditId(session.redis);
        const options = { filter, count: limit, before: after, maxScanned };
        const { entries, next } = await readAuditPage(session.redis, options);
        const named = await nameTargets(entries, session);
        return { items: named.map(viewEntry), next: next ?? null, latest };
      }),
    );
  });

  return router;
}

type Conditions = Omit<z.infer<typeof query>, 'after' | 'newerThan' | 'limit'>;

async function filterOf(session: Session, { target, ...rest }: Conditions): Promise<AuditFilter> {
  return { ...rest, targets: target === undefined ? undefined : await auditTargets(target, session) };
}

/** The entry, and what it has changed field by field. */
export function viewEntry({ before, after, ...entry }: NamedEntry) {
  return { ...entry, changes: changedFields(before, after).map(viewChange) };
}

function viewChange({ field, before = null, after = null }: ReturnType<typeof changedFields>[0]) {
  return { field, before, after };
}
