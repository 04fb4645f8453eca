import { Router } from 'express';
import { createApiKeyStore } from '../../operations/api-key-store.ts';
import { graceInput } from '../../operations/key-input.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { changedKey } from './changed-key.ts';
import { issuedKey } from './issued-key.ts';

/** Rotation and revocation of API keys. */
export function keyActionsApi({ change }: ApiDependencies): Router {
  const router = Router();

  router.post('/keys/:id/rotate', async (req, res) => {
    const { graceSeconds } = graceInput.parse(req.body);
    const { id } = req.params;
    const issued = await issuedKey(change, req, (session) =>
      createApiKeyStore(session).rotate(id, graceSeconds * 1000),
    );
    res.status(201).json(issued);
  });

  // No rev: to revoke is right whatever else has changed, and doing it twice changes nothing.
  router.post('/keys/:id/revoke', async (req, res) => {
    res.json(await changedKey(change, req, (session, id) => createApiKeyStore(session).revoke(id)));
  });

  return router;
}
