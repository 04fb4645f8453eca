import { Router } from 'express';
import { z } from 'zod';
import { createApiKeyStore } from '../../operations/api-key-store.ts';
import { readKeyDetail } from '../../operations/key-detail.ts';
import { readKeyEffect } from '../../operations/key-effect.ts';
import { keyChangeInput, limitsChangeInput } from '../../operations/key-input.ts';
import { findKeyHash, readLastDays } from '../../operations/usage-record.ts';
import { readRefusals } from '../../quota/refusals.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { changedKey } from './changed-key.ts';

const maxDays = 400;
const daysRange = `has to be a whole number from 1 to ${maxDays}`;

const usageQuery = z.strictObject({
  days: z
    .string()
    .regex(/^[1-9]\d{0,2}$/, daysRange)
    .transform(Number)
    .refine((days) => days <= maxDays, daysRange)
    .default(30),
});

/** One API key: what it is, what it uses, and changes of its record. */
export function keyApi({ read, change }: ApiDependencies): Router {
  const router = Router();

  router.get('/keys/:id', async (req, res) => {
    res.json(await read((session) => readKeyDetail(session, req.params.id)));
  });

  router.patch('/keys/:id', async (req, res) => {
    const wanted = keyChangeInput.parse(req.body);
    res.json(await changedKey(change, req, (session, id) => createApiKeyStore(session).change(id, wanted)));
  });

  router.post('/keys/:id/effect', async (req, res) => {
    const wanted = limitsChangeInput.parse(req.body);
    res.json(await read((session) => readKeyEffect(session, req.params.id, wanted)));
  });

  router.get('/keys/:id/usage', async (req, res) => {
    const { days } = usageQuery.parse(req.query);
    const items = await read(async (session) =>
      readLastDays(session, await findKeyHash(session, req.params.id), days),
    );
    res.json({ items, next: null });
  });

  router.get('/keys/:id/refusals', async (req, res) => {
    const items = await read(async (session) =>
      readRefusals(session, await findKeyHash(session, req.params.id)),
    );
    res.json({ items, next: null });
  });

  return router;
}
