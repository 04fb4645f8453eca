import { describeLimits } from '../limits/limits.ts';
import { createApiKeyStore, type ApiKeyStore, type IssuedApiKey } from '../operations/api-key-store.ts';
import { keyView, recordView, type KeyView, type ViewedKey } from '../operations/key-view.ts';
import { printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

const now = () => Date.now();

export function readKeys<T>(use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withRedis((session) => use(createApiKeyStore(session)));
}

export function changeKeys<T>(who: string, use: (store: ApiKeyStore) => Promise<T>): Promise<T> {
  return withChanges(who, (session) => use(createApiKeyStore(session)));
}

/** Temporary limits in words; null without any. */
export const temporaryText = ({ temporary }: Pick<KeyView, 'temporary'>) =>
  temporary && `${describeLimits(temporary)}, until ${temporary.until}`;

/** A view of a key as fields on a terminal. */
export function keyFields({ temporary, ...view }: Omit<KeyView, 'id'>) {
  return { ...view, ...(temporary && { temporary: temporaryText({ temporary }) }) };
}

export function printIssued({ key, record }: IssuedApiKey, json: true | undefined): void {
  const { id, ...rest } = recordView(record, now());
  if (json) printJson({ id, key, ...rest });
  else printFields({ id, key, ...keyFields(rest) });
}

export function printKey(key: ViewedKey, json: true | undefined): void {
  const view = keyView(key, now());
  const { id, ...rest } = view;
  if (json) printJson(view);
  else printFields({ id, ...keyFields(rest) });
}
