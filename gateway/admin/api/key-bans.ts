import { Router } from 'express';
import { createApiKeyStore } from '../../operations/api-key-store.ts';
import { createBanStore } from '../../operations/ban-store.ts';
import { InvalidOperation } from '../../operations/invalid-operation.ts';
import { banInput } from '../../operations/key-input.ts';
import type { Session } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';
import { changedKey } from './changed-key.ts';

/** Bans of API keys. */
export function keyBansApi({ change }: ApiDependencies): Router {
  const router = Router();

  router.put('/keys/:id/ban', async (req, res) => {
    const { seconds, until, reason } = banInput.parse(req.body);
    const changed = await changedKey(change, req, async (session, id) => {
      const durationMs = until === undefined ? (seconds ?? 0) * 1000 : until.getTime() - session.now();
      if (durationMs < 1) throw new InvalidOperation('the end of the ban is in the past');
      await banStore(session).add(id, durationMs, reason);
    });
    res.json(changed);
  });

  router.delete('/keys/:id/ban', async (req, res) => {
    res.json(await changedKey(change, req, (session, id) => banStore(session).lift(id)));
  });

  return router;
}

function banStore(session: Session) {
  return createBanStore({ ...session, keys: createApiKeyStore(session) });
}
