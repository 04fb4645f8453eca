import { errorMessage } from '#runtime/error-message.ts';
import { readVersion } from '#runtime/version.ts';
import { Webhook as Signer } from 'standardwebhooks';
import { Agent, request } from 'undici';
import type { GatewayEvent } from './event-types.ts';
import type { Webhook } from './stored-webhooks.ts';
import { createCheckedLookup, ForbiddenAddress, parseWebhookUrl } from './webhook-address.ts';

export type WebhookSender = ReturnType<typeof createWebhookSender>;

const connectTimeoutMs = 5000;
const timeoutMs = 15_000;
/** Of a response, which nobody reads. */
const maxResponseBytes = 16_384;

interface WebhookSenderOptions {
  allowedNetworks: readonly string[];
  now: () => number;
  /** Time for an attempt as a whole. */
  attemptMs?: number;
}

export function createWebhookSender(options: WebhookSenderOptions) {
  const { allowedNetworks, now, attemptMs = timeoutMs } = options;
  const agentOf = (protocol: string) =>
    new Agent({
      connect: { timeout: connectTimeoutMs, lookup: createCheckedLookup(allowedNetworks, protocol) },
      // A receiver that is no HTTP server must not take memory.
      maxHeaderSize: 16_384,
    });
  const [http, https] = [agentOf('http:'), agentOf('https:')];
  const userAgent = `gateway/${readVersion()}`;

  async function attempt(url: string, event: GatewayEvent, secret: string) {
    const body = JSON.stringify({ type: event.type, timestamp: event.at, data: event.data });
    const signal = AbortSignal.timeout(attemptMs);
    const at = new Date(now());
    const response = await request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': userAgent,
        'webhook-id': event.id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Signer(secret).sign(event.id, at, body),
      },
      body,
      dispatcher: url.startsWith('https:') ? https : http,
      signal,
    });
    // The status is all that matters; what follows is read so that the connection can be used again.
    await response.body.dump({ limit: maxResponseBytes, signal }).catch(() => {});
    const { statusCode: status, headers } = response;
    if (status >= 200 && status < 300) return { status, error: null };
    const error = status < 400 ? `status ${status}: redirects are not followed` : `status ${status}`;
    return { status, error, retryAfterMs: parseRetryAfter(headers['retry-after'], now()) };
  }

  return {
    /**
     * Sends an event once. Never rejects.
     * @returns status of the response, null without one; error: why it failed, null if it did not; how long the receiver asks to
     * be left alone
     */
    async send({ url, secret }: Pick<Webhook, 'url' | 'secret'>, event: GatewayEvent) {
      const startedAt = performance.now();
      const result = (fields: {
        status: number | null;
        error: string | null;
        retryAfterMs?: number | undefined;
      }) => ({
        ...fields,
        delivered: fields.error === null,
        ms: Math.round(performance.now() - startedAt),
      });
      const failed = (error: string) => result({ status: null, error });
      const parsed = parseWebhookUrl(url, allowedNetworks);
      if ('issue' in parsed) return failed(`the address ${parsed.issue}`);
      try {
        return result(await attempt(parsed.url, event, secret));
      } catch (error) {
        return failed(describe(error, attemptMs));
      }
    },
    async close() {
      await Promise.all([http.destroy(), https.destroy()]);
    },
  };
}

/** Seconds, or a date (RFC 9110 section 10.2.3). @returns undefined for anything else */
export function parseRetryAfter(value: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof value !== 'string') return undefined;
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function describe(error: unknown, attemptMs: number): string {
  if (error instanceof ForbiddenAddress) return error.message;
  if (error instanceof Error && error.name === 'TimeoutError')
    return `no response within ${attemptMs / 1000} s`;
  // The message of an error of OpenSSL has its place in the sources, and a line break.
  if (error instanceof Error && 'library' in error && 'reason' in error)
    return `TLS fails: ${String(error.reason)}`;
  if (error instanceof AggregateError && error.errors.length > 0) return errorMessage(error.errors[0]);
  return errorMessage(error).slice(0, 200);
}
