import type { Request } from 'express';
import type { IssuedApiKey } from '../../operations/api-key-store.ts';
import { recordView } from '../../operations/key-view.ts';
import { OperationFailure } from '../../operations/operation-failure.ts';
import type { ChangingSession } from '../../operations/session.ts';
import type { ApiDependencies } from './api-dependencies.ts';

/**
 * Runs an operation that issues a key.
 * @returns the key, which is in this response only, its record, and warnings
 */
export async function issuedKey(
  change: ApiDependencies['change'],
  req: Request,
  issue: (session: ChangingSession) => Promise<IssuedApiKey>,
) {
  let issued: (ReturnType<typeof recordView> & { key: string }) | undefined;
  try {
    const { result, warnings } = await change(req, async (session) => {
      const { key, record } = await issue(session);
      issued = { key, ...recordView(record, session.now()) };
      return issued;
    });
    return { ...result, warnings };
  } catch (error) {
    // It works already, and without this response nobody would have it.
    if (issued === undefined || !(error instanceof OperationFailure)) throw error;
    return { ...issued, warnings: [error.message] };
  }
}
