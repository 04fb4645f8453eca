import { Router } from 'express';
import { z } from 'zod';
import { createApiKeyStore } from '../../operations/api-key-store.ts';
import { createBanStore } from '../../operations/ban-store.ts';
import { isScanCursor } from '../../operations/scan-redis-keys.ts';
import type { Session } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';

const page = z.strictObject({
  after: z
    .string()
    .regex(/^\d{1,16}(?:\.\d{1,10})?:[\w-]{1,100}$/, { error: 'is not the next of a page' })
    .optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
const scan = z.strictObject({
  after: z.string().refine(isScanCursor, { error: 'is not the next of a part' }).optional(),
});

/** Active bans. Those of one key are changed at /api/keys/{id}/ban. */
export function bansApi({ search }: ApiDependencies): Router {
  const router = Router();

  router.get('/bans', async (req, res) => {
    const { after, limit } = page.parse(req.query);
    const { bans, next } = await search(req, (session) => banStore(session).page(after, limit));
    res.json({ items: bans.map(viewBan), next: next ?? null });
  });

  // For bans that were made with redis-cli. The client asks for part after part, and can stop.
  router.get('/bans/scan', async (req, res) => {
    const { after } = scan.parse(req.query);
    const { bans, next, scanned, total } = await search(req, (session) => banStore(session).scan(after));
    res.json({ items: bans.map(viewBan), next: next ?? null, scanned, total });
  });

  return router;
}

function banStore(session: Session) {
  return createBanStore({ ...session, keys: createApiKeyStore(session) });
}

/** A ban without an end was made by hand; the key's next request gives it one. */
export function viewBan<T extends { endsAt: string }>(ban: T) {
  return { ...ban, endsAt: ban.endsAt === '' ? null : ban.endsAt };
}
