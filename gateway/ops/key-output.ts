import { recordView } from '../operations/key-view.ts';
import type { IssuedApiKey } from '../operations/keys.ts';
import type { PlacedKey } from '../operations/stored-keys.ts';
import { printFields, printJson } from './output.ts';
import { redisNow } from './redis-session.ts';

/** An issued key as JSON has it. */
export function issuedView({ key, record }: IssuedApiKey, nowMs: number) {
  const { id, ...rest } = recordView(record, nowMs);
  return { id, key, ...rest };
}

export function printIssued(issued: IssuedApiKey, json: true | undefined): void {
  const view = issuedView(issued, redisNow());
  if (json) printJson(view);
  else printFields(view);
}

export function printKey(record: PlacedKey['record'], json: true | undefined): void {
  const view = recordView(record, redisNow());
  if (json) printJson(view);
  else printFields(view);
}
