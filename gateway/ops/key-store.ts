import { createApiKeyStore, type ApiKeyStore, type IssuedApiKey } from '../operations/api-key-store.ts';
import { shownKey, shownRecord } from '../operations/key-view.ts';
import type { StoredApiKey } from '../operations/stored-keys.ts';
import { writeFields, writeJson } from './output.ts';
import { withChanges, withRedis } from './redis-connection.ts';

const now = () => Date.now();

export function readKeys<T>(use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withRedis((session) => use(createApiKeyStore(session)));
}

export function changeKeys<T>(who: string, use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withChanges(who, (session) => use(createApiKeyStore(session)));
}

export function writeIssued({ key, record }: IssuedApiKey, json: true | undefined): void {
  const { id, ...rest } = shownRecord(record, now());
  if (json) writeJson({ id, key, ...rest });
  else writeFields({ id, key, ...rest });
}

export function writeKey(key: StoredApiKey, json: true | undefined): void {
  const shown = shownKey(key, now());
  if (json) writeJson(shown);
  else writeFields(shown);
}
