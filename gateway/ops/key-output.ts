import { describeLimits } from '../limits/limits.ts';
import { keyView, recordView, type KeyView, type ViewedKey } from '../operations/key-view.ts';
import type { IssuedApiKey } from '../operations/keys.ts';
import { printFields, printJson } from './output.ts';
import { redisNow } from './redis-session.ts';

/** Temporary limits in words; null without any. */
export const temporaryText = ({ temporary }: Pick<KeyView, 'temporary'>) =>
  temporary && `${describeLimits(temporary)}, until ${temporary.until}`;

/** A view of a key as fields on a terminal. */
export function keyFields({ temporary, ...view }: KeyView & { key?: string }) {
  return { ...view, ...(temporary && { temporary: temporaryText({ temporary }) }) };
}

/** An issued key as JSON has it. */
export function issuedView({ key, record }: IssuedApiKey, nowMs: number) {
  const { id, ...rest } = recordView(record, nowMs);
  return { id, key, ...rest };
}

export function printIssued(issued: IssuedApiKey, json: true | undefined): void {
  const view = issuedView(issued, redisNow());
  if (json) printJson(view);
  else printFields(keyFields(view));
}

export function printKey(key: ViewedKey, json: true | undefined): void {
  const view = keyView(key, redisNow());
  if (json) printJson(view);
  else printFields(keyFields(view));
}
