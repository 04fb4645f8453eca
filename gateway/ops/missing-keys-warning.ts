import { createApiKeyStore } from '../operations/api-key-store.ts';
import { detectMissingKeys } from '../operations/missing-keys.ts';
import type { Session } from '../operations/session.ts';
import { printError } from './output.ts';

/** For numbers of keys: says on standard error if the index, by which they are counted, lacks some. */
export async function warnOfMissingKeys(session: Session): Promise<void> {
  const missing = await detectMissingKeys(createApiKeyStore(session));
  if (missing !== undefined) {
    printError(`warning: ${missing}, so keys may be missing here; run ops keys reindex`);
  }
}
