import { createHmac, randomBytes } from 'node:crypto';
import type { WebhookSecrets } from './webhook-record.ts';

const secretPrefix = 'whsec_';

/** Standard Webhooks asks for 24 to 64 bytes. */
export const generateWebhookSecret = () => `${secretPrefix}${randomBytes(32).toString('base64')}`;

/**
 * Headers by which a receiver knows that an event comes from here (Standard Webhooks). During a rotation there are two
 * signatures, so that either secret finds its own.
 */
export function signatureHeaders(
  { id, body, atMs }: { id: string; body: string; atMs: number },
  { secret, previous }: WebhookSecrets,
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000));
  const secrets =
    previous !== undefined && Date.parse(previous.until) > atMs ? [secret, previous.secret] : [secret];
  const signatures = secrets.map((text) => {
    const key = Buffer.from(text.slice(secretPrefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
