import { issuedFromFile } from '../events/audit-events.ts';
import { publishEvent } from '../events/event-publisher.ts';
import { keyView, type KeyView } from './key-view.ts';
import { issueKey, revokeKey, type IssuedApiKey, type NewApiKey } from './keys.ts';
import type { ChangingSession } from './session.ts';
import { findStoredKey } from './stored-keys.ts';
import { writeBatch, type BatchSource } from './write-batch.ts';

/**
 * Issues keys in their order, as one audit entry. Each has the id of the batch in its record, so that an auditor finds the
 * keys of the file. Check them before with assertIssuable.
 * @param source which file the keys come from
 * @returns pages of keys that are on Redis' disk; if it fails, the last page has those that may not be there
 */
export async function* issueBatch(
  session: ChangingSession,
  keys: readonly NewApiKey[],
  source: Pick<BatchSource, 'fileSha256' | 'stop'>,
): AsyncGenerator<IssuedApiKey[]> {
  const issue = (key: NewApiKey, batch: string) => issueKey(session, { ...key, batch });
  const batch = { action: 'keys.issue-batch', ...source, audit: session.audit } as const;
  for await (const page of writeBatch(keys, issue, batch)) {
    // What fails is found by the sweep: the keys, which nobody else has, are returned all the same.
    const publish = ({ record }: IssuedApiKey) => publishEvent(session.redis, issuedFromFile(record));
    try {
      await session.waitUntilDurable();
      await Promise.allSettled(page.map(publish));
    } finally {
      yield page;
    }
  }
}

/**
 * Revokes keys in their order. The batch has an audit entry, and so has each key. A key that was revoked before is left as it
 * is, so that a batch which ended early can be run again.
 * @param source which list or filter the keys come from
 * @returns the number of keys that are revoked on Redis' disk, page by page
 */
export async function* revokeBatch(
  session: ChangingSession,
  keys: readonly Pick<KeyView, 'id' | 'customerId' | 'plan'>[],
  source: Pick<BatchSource, 'fileSha256' | 'filter' | 'stop'>,
): AsyncGenerator<number> {
  const batch = { action: 'keys.revoke-batch', ...source, audit: session.audit } as const;
  // Keys of one customer share its rev, so at the same time they would overtake one another.
  const lastOf = new Map<string, Promise<unknown>>();
  const revoke = ({ id, customerId }: (typeof keys)[number]) => {
    const revoked = Promise.resolve(lastOf.get(customerId)).then(() => revokeKey(session, id));
    lastOf.set(customerId, revoked);
    return revoked;
  };
  for await (const page of writeBatch(keys, revoke, batch)) {
    await session.waitUntilDurable();
    yield page.length;
  }
}

/** Numbers of keys that were revoked now, and that were before. */
export interface RevokedKeys {
  revoked: number;
  alreadyRevoked: number;
}

/**
 * Revokes keys that a person has selected, as a batch.
 * @throws InvalidOperation if one of them does not exist: none is revoked then
 */
export async function revokeSelected(session: ChangingSession, ids: readonly string[]): Promise<RevokedKeys> {
  const { redis, now } = session;
  const stored = await Promise.all([...new Set(ids)].map((id) => findStoredKey(redis, id)));
  const found = stored.map(({ key }) => keyView(key, now()));
  const keys = found.filter(({ state }) => state !== 'revoked');
  let revoked = 0;
  if (keys.length > 0) for await (const count of revokeBatch(session, keys, {})) revoked += count;
  return { revoked, alreadyRevoked: found.length - keys.length };
}
