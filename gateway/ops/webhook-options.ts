import { InvalidArgumentError, Option } from 'commander';
import { loadConfig } from '../config/config.ts';
import { webhookIdPattern } from '../events/webhook-record.ts';
import { assertNotApiKey } from '../operations/pasted-key.ts';
import type { CustomerId, WebhookOwner } from '../redis/redis-keys.ts';
import { customerArgument } from './options.ts';

export interface OwnerOption {
  customer?: CustomerId;
}

export const ownerOf = ({ customer }: OwnerOption): WebhookOwner => customer ?? 'operators';
/** Which addresses are allowed: as for the gateways, by the settings. */
export const webhookRules = () => loadConfig(process.env).webhookRules;

/** Whose webhook it is. */
export const customerOption = () =>
  new Option('--customer <customer>', 'webhook of a customer, instead of the operators’').argParser(
    customerArgument,
  );

export function webhookArgument(text: string): string {
  assertNotApiKey(text);
  if (!webhookIdPattern.test(text)) {
    throw new InvalidArgumentError('It is not the id of a webhook, such as wh_282dd48c706990d4.');
  }
  return text;
}

export function urlArgument(text: string): string {
  assertNotApiKey(text);
  return text;
}
