import { customerIdPattern, isCustomerId } from '../platform/redis/redis-keys.ts';
import { planNamePattern } from '../quota/plan-settings.ts';
import { apiTokenId } from './access/api-tokens.ts';
import { consoleSessionId } from './access/console-sessions.ts';
import { keyIdPattern } from './keys/key-input.ts';
import { webhookIdPattern } from './webhooks/stored-webhooks.ts';

export interface TargetKind {
  /** What people call it. */
  noun: string;
  pattern: RegExp;
  example: string;
  /** Whether the caller chooses it, so that the operation judges it. */
  isChosen?: true;
}

/** What an operation can be about, by the name of its parameter in paths and of its argument in commands. */
export const targets: Readonly<Record<string, TargetKind>> = {
  id: { noun: 'key', pattern: keyIdPattern, example: 'key_282dd48c706990d481' },
  customer: { noun: 'customer', pattern: customerIdPattern, example: 'cus_282dd48c706990d481' },
  name: { noun: 'plan', pattern: planNamePattern, example: 'gold', isChosen: true },
  webhook: { noun: 'webhook', pattern: webhookIdPattern, example: 'wh_282dd48c706990d4' },
  token: { noun: 'token', pattern: apiTokenId, example: 'token_5b1f0c9ad2e4' },
  session: { noun: 'session', pattern: consoleSessionId, example: 'console_5b1f0c9ad2e4' },
};

/** Words of a command with an example of what its argument names. */
export const exampleOf = (usage: string): string =>
  usage.replace(/<(\w+)>/, (argument, name: string) => targets[name]?.example ?? argument);

/** Whether a text can be the id of such a target. An operation that takes a key or a customer would change the wrong one. */
export function isIdOf({ noun, pattern, isChosen }: TargetKind, text: string): boolean {
  return isChosen === true || (pattern.test(text) && (noun !== 'key' || !isCustomerId(text)));
}
