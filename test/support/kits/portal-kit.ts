import { makePortalCode } from '../../../gateway/control/access/portal-sessions.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { recordSecrets } from '../checks/evidence.ts';
import { send, type ClientResponse } from '../http/http.ts';
import { sessionOf } from './keys.ts';

/** A session of a customer in the portal, without a browser. */
export interface PortalCustomer {
  cookie: string;
  csrfToken: string;
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ClientResponse>;
}

/** Makes a code for the portal, as an operator does. */
export async function portalCode(redis: RedisClient, customerId: string): Promise<string> {
  const { code } = await makePortalCode(sessionOf(redis, 'Ada'), customerId);
  recordSecrets(`#code=${code}`);
  return code;
}

/** Sends a request as the page does. @param path below /portal/api */
export function sendToPortal(
  url: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ClientResponse> {
  return send(`${url}/portal/api${path}`, {
    method,
    headers: {
      ...(method === 'GET' ? {} : { Origin: url }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Enters the portal of a customer with a link. */
export async function enterPortal(
  url: string,
  redis: RedisClient,
  customerId: string,
): Promise<PortalCustomer> {
  const begun = await sendToPortal(url, 'POST', '/session', { code: await portalCode(redis, customerId) });
  const cookie = String([begun.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
  const { csrfToken } = begun.json as { csrfToken: string };
  recordSecrets(`${cookie} ${begun.text}`);
  return {
    cookie,
    csrfToken,
    send: (method, path, body, headers = {}) =>
      sendToPortal(url, method, path, body, { Cookie: cookie, 'X-CSRF-Token': csrfToken, ...headers }),
  };
}
