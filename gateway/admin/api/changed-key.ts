import type { Request } from 'express';
import { readKeyDetail, type KeyDetail } from '../../operations/key-detail.ts';
import type { ChangingSession } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';

/** Changes the key of the request. @returns the key after the change, with warnings */
export async function changedKey(
  change: ApiDependencies['change'],
  req: Request<{ id: string }>,
  operate: (session: ChangingSession, id: string) => Promise<unknown>,
): Promise<KeyDetail & { warnings: string[] }> {
  const { id } = req.params;
  const { result, warnings } = await change(req, async (session) => {
    await operate(session, id);
    return readKeyDetail(session, id);
  });
  return { ...result, warnings };
}
