import type { ApiScope } from '../../../gateway/control/access/api-scopes.ts';
import { issueApiToken } from '../../../gateway/control/access/api-tokens.ts';
import { makeConsoleCode, type ConsoleRole } from '../../../gateway/control/access/console-sessions.ts';
import { recordRefusal, recordSecrets } from '../checks/evidence.ts';
import { expectDescribed } from '../checks/operators-api.ts';
import { startGatewayKit } from './gateway-kit.ts';
import { sessionOf } from './keys.ts';

export interface SignIn {
  name?: string;
  role?: ConsoleRole;
  /** Address of the admin port of another gateway on the same Redis. */
  adminUrl?: string;
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

  /** Makes a code that works once. */
  async function makeCode({ name = 'Ada', role = 'operator' }: SignIn = {}): Promise<string> {
    const { code } = await makeConsoleCode(sessionOf(kit.redis, name), { name, role });
    recordSecrets(`#code=${code}`);
    return code;
  }

  return {
    kit,
    origin,
    makeCode,
    /** Begins a session without a browser. */
    signIn: async (person: SignIn = {}) => signInWith(person.adminUrl ?? origin, await makeCode(person)),
    /** Issues a token of a program, which uses the API with it. */
    async issueToken(scopes: readonly ApiScope[], options: { name?: string; expiresAt?: Date } = {}) {
      const { name = null, expiresAt = new Date(Date.now() + 3_600_000) } = options;
      const { id, token } = await issueApiToken(sessionOf(kit.redis, 'Ada'), { name, scopes, expiresAt });
      recordSecrets(token);
      return { id, token, send: sendWithToken(origin, token) };
    },
    [Symbol.asyncDispose]: () => kit[Symbol.asyncDispose](),
  };
}

/** Sends what a program sends: no Origin, no cookie. */
export function sendWithToken(origin: string, token: string): ConsoleApi['send'] {
  return (method, path, body, headers = {}) =>
    request(origin, method, path, body, { Authorization: `Bearer ${token}`, ...headers });
}

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
