import { errorMessage } from '#runtime/error-message.ts';
import { readVersion } from '#runtime/version.ts';
import { Agent, request } from 'undici';
import type { GatewayEvent } from './event-types.ts';
import {
  createCheckedLookup,
  ForbiddenAddress,
  redirectOf,
  rulesOfCustomers,
  webhookUrlIssue,
  type AddressRules,
  type WebhookRules,
} from './webhook-address.ts';
import type { Webhook, WebhookSecrets } from './webhook-record.ts';
import { signatureHeaders } from './webhook-signature.ts';

/** How an attempt went. */
export interface Attempt {
  delivered: boolean;
  /** Of the response; null without one. */
  status: number | null;
  /** Why it failed; null if it did not. */
  error: string | null;
  ms: number;
}

export interface WebhookSender {
  /** Sends an event once. Never rejects. @param secrets undefined if they were lost */
  send(
    webhook: Pick<Webhook, 'url' | 'owner'>,
    event: GatewayEvent,
    secrets: WebhookSecrets | undefined,
  ): Promise<Attempt>;
  close(): Promise<void>;
}

const connectTimeoutMs = 5000;
const timeoutMs = 15_000;
/** From the address of the webhook on, in one attempt. */
const maxRedirects = 3;
/** Of a response, which nobody reads. */
const maxResponseBytes = 16_384;

/** Connections that follow the rules of an owner. */
const createRoute = (rules: AddressRules) => ({
  rules,
  dispatcher: new Agent({
    connect: { timeout: connectTimeoutMs, lookup: createCheckedLookup(rules) },
    // A receiver that is no HTTP server must not take memory.
    maxHeaderSize: 16_384,
  }),
});

interface WebhookSenderOptions {
  rules: WebhookRules;
  now: () => number;
  /** Time for an attempt as a whole. */
  attemptMs?: number;
}

export function createWebhookSender({
  rules,
  now,
  attemptMs = timeoutMs,
}: WebhookSenderOptions): WebhookSender {
  // A customer must not get a connection that an operator's webhook has opened.
  const routes = { operators: createRoute(rules), customers: createRoute(rulesOfCustomers(rules)) };
  const userAgent = `gateway/${readVersion()}`;

  /** Follows redirects with the same body and signature, if that is allowed. @returns how the last response fails, if it does */
  async function attempt(
    webhookUrl: string,
    route: ReturnType<typeof createRoute>,
    event: GatewayEvent,
    secrets: WebhookSecrets,
  ) {
    const body = JSON.stringify({ type: event.type, timestamp: event.at, data: event.data });
    const signal = AbortSignal.timeout(attemptMs);
    const headers = {
      'content-type': 'application/json',
      'user-agent': userAgent,
      ...signatureHeaders({ id: event.id, body, atMs: now() }, secrets),
    };
    let url = webhookUrl;
    for (let redirects = 0; ; redirects += 1) {
      const response = await request(url, {
        method: 'POST',
        headers,
        body,
        dispatcher: route.dispatcher,
        signal,
      });
      // The status is all that matters; what follows is read so that the connection can be used again.
      await response.body.dump({ limit: maxResponseBytes, signal }).catch(() => {});
      const { statusCode: status } = response;
      const redirect = redirectOf(url, { status, location: response.headers['location'] }, route.rules);
      if (redirect === undefined) {
        return { status, error: status >= 200 && status < 300 ? null : `status ${status}` };
      }
      if ('issue' in redirect) return { status, error: redirect.issue };
      if (redirects === maxRedirects) return { status, error: `more than ${maxRedirects} redirects` };
      url = redirect.url;
    }
  }

  return {
    async send({ url, owner }, event, secrets) {
      const startedAt = performance.now();
      const result = (fields: Omit<Attempt, 'ms'>): Attempt => ({
        ...fields,
        ms: Math.round(performance.now() - startedAt),
      });
      const failed = (error: string) => result({ delivered: false, status: null, error });
      const route = owner === 'operators' ? routes.operators : routes.customers;
      const issue = webhookUrlIssue(url, route.rules);
      if (issue !== undefined) return failed(`the address ${issue}`);
      if (secrets === undefined) return failed('the secret is lost: rotate it');
      try {
        const { status, error } = await attempt(url, route, event, secrets);
        return result({ delivered: error === null, status, error });
      } catch (error) {
        return failed(describe(error, attemptMs));
      }
    },
    async close() {
      await Promise.all(Object.values(routes).map(({ dispatcher }) => dispatcher.destroy()));
    },
  };
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
