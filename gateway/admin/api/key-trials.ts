import { Router } from 'express';
import { trialInput } from '../../operations/key-input.ts';
import { createKeyTrials } from '../../operations/key-trial.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { changedKey } from './changed-key.ts';

/** Limits on trial of one API key. */
export function keyTrialsApi({ change }: ApiDependencies): Router {
  const router = Router();

  router.put('/keys/:id/trial', async (req, res) => {
    const limits = trialInput.parse(req.body);
    res.json(await changedKey(change, req, (session, id) => createKeyTrials(session).start(id, limits)));
  });

  router.delete('/keys/:id/trial', async (req, res) => {
    res.json(await changedKey(change, req, (session, id) => createKeyTrials(session).stop(id)));
  });

  router.post('/keys/:id/trial/apply', async (req, res) => {
    res.json(await changedKey(change, req, (session, id) => createKeyTrials(session).apply(id)));
  });

  return router;
}
