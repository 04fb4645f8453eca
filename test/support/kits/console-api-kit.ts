import type { ApiScope } from '../../../gateway/control/access/api-scopes.ts';
import { issueApiToken } from '../../../gateway/control/access/api-tokens.ts';
import { makeConsoleCode, type ConsoleRole } from '../../../gateway/control/access/console-sessions.ts';
import { readAudit } from '../../../gateway/control/audit/audit-log.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { recordRefusal, recordSecrets } from '../checks/evidence.ts';
import { expectDescribed } from '../checks/operators-api.ts';
import { startGatewayKit } from './gateway-kit.ts';
import { sessionOf } from './keys.ts';

export interface Person {
  name?: string;
  role?: ConsoleRole;
}

export interface ApiResponse {
  status: number;
  headers: Headers;
  /** Undefined for an empty body. */
  body: unknown;
}

/** A session of the operators' API without a browser. */
export interface ConsoleApi {
  cookie: string;
  csrfToken: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<ApiResponse>;
}

/** A gateway with its operators' API. */
export async function startConsoleApi(env: Record<string, string> = {}) {
  const kit = await startGatewayKit(env);
  const origin = kit.gateway.adminUrl;
  return {
    ...kit,
    origin,
    /** Makes a code that works once. */
    makeCode: (person?: Person) => makeCode(kit.redis, person),
    /** Begins a session without a browser. */
    signIn: (person?: Person) => signIn(kit.redis, origin, person),
    /** The newest entry of the audit log, or the newest that is asked for. */
    lastChange: async (wanted?: Parameters<typeof readAudit>[2]) =>
      (await readAudit(kit.redis, 1, wanted))[0],
    /** Issues a token of a program, which uses the API with it. */
    async issueToken(scopes: readonly ApiScope[], options: { name?: string; expiresAt?: Date } = {}) {
      const { name = null, expiresAt = new Date(Date.now() + 3_600_000) } = options;
      const { id, token } = await issueApiToken(sessionOf(kit.redis, 'Ada'), { name, scopes, expiresAt });
      recordSecrets(token);
      return { id, token, send: sendWithToken(origin, token) };
    },
  };
}

/** Sends what a program sends: no Origin, no cookie. */
export function sendWithToken(origin: string, token: string): ConsoleApi['send'] {
  return (method, path, body, headers = {}) =>
    request(origin, method, path, body, { Authorization: `Bearer ${token}`, ...headers });
}

async function makeCode(
  redis: RedisClient,
  { name = 'Ada', role = 'operator' }: Person = {},
): Promise<string> {
  const { code } = await makeConsoleCode(sessionOf(redis, name), { name, role });
  recordSecrets(`#code=${code}`);
  return code;
}

/** Begins a session at the console of any gateway on a Redis, without a browser. */
export const signIn = async (redis: RedisClient, origin: string, person?: Person) =>
  signInWith(origin, await makeCode(redis, person));

/** Exchanges a code for a session. */
export async function signInWith(origin: string, code: string): Promise<ConsoleApi> {
  const begun = await request(origin, 'POST', '/api/session', { code }, { Origin: origin });
  const cookie = begun.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ');
  recordSecrets(`${cookie} ${JSON.stringify(begun.body)}`);
  const { csrfToken } = begun.body as { csrfToken: string };
  return {
    cookie,
    csrfToken,
    send: (method, path, body, headers = {}) =>
      request(origin, method, path, body, {
        Origin: origin,
        Cookie: cookie,
        'X-CSRF-Token': csrfToken,
        ...headers,
      }),
  };
}

async function request(
  origin: string,
  method: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ApiResponse> {
  const response = await fetch(origin + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  recordRefusal(response.status, text);
  const { status } = response;
  const content: unknown = text === '' ? undefined : JSON.parse(text);
  expectDescribed(method, path, status, content);
  return { status, headers: response.headers, body: content };
}
