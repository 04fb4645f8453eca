/** Builds an address. Encodes what is inserted, so that no id or name leads to another path. */
export const url = (texts: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  String.raw({ raw: texts }, ...parts.map((part) => encodeURIComponent(part)));

/** A response of the API that is not a success. `code` is one of the API's, or `unreachable`. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly code: string;
  readonly status: number;

  constructor(of: { code: string; message: string; status?: number }) {
    super(of.message);
    this.code = of.code;
    this.status = of.status ?? 0;
  }
}

/** Message for a page whose request got no response. */
const unreachable = {
  code: 'unreachable',
  message: 'The gateway does not respond. It may be restarting: try again in a moment.',
};

/**
 * Sends a request to the gateway of this page.
 * @throws ApiFailure without a response
 */
export async function request(
  method: string,
  path: string,
  { body, headers }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch {
    throw new ApiFailure(unreachable);
  }
}

/**
 * Exchanges the code of a link for a session. If somebody else is signed in, the person is asked first.
 * @param replace whether the person has agreed
 * @throws ApiFailure that says why that failed
 */
export async function enterWith<Session>(path: string, code: string, replace = false): Promise<Session> {
  const response = await request('POST', path, { body: { code, replace } });
  if (response.ok) return response.json();
  const failure = await failureOf(response);
  if (failure.code !== 'conflict' || !confirm(`${failure.message} Sign in with the link?`)) throw failure;
  return enterWith(path, code, true);
}

/** @param response that is not a success */
export async function failureOf(response: Response) {
  return new ApiFailure(await response.json().catch(() => ({ ...unreachable, status: response.status })));
}

/**
 * Calls an API. A call returns the body, which is what responses.ts says, and throws an ApiFailure.
 * @param base before all paths
 * @param headersOfChange headers of a request that is no GET
 * @param onFailure called with why a call has failed
 */
export function createApi(
  base: string,
  headersOfChange: () => Record<string, string>,
  onFailure: (failure: ApiFailure) => void = () => {},
) {
  async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = method === 'GET' ? {} : headersOfChange();
    const response = await request(method, base + path, { body, headers });
    if (response.ok) return response.json().catch(() => undefined);
    const failure = await failureOf(response);
    onFailure(failure);
    throw failure;
  }
  return {
    send: call,
    get: <T>(path: string) => call<T>('GET', path),
    post: <T>(path: string, body: unknown = {}) => call<T>('POST', path, body),
    patch: <T>(path: string, body: unknown) => call<T>('PATCH', path, body),
    delete: <T>(path: string) => call<T>('DELETE', path),
  };
}

/** Why the person makes the next change. Of all forms of the page, since one change is made at a time. */
export const changeReason = {
  text: '',

  /** @returns the header of a change; it can only have ASCII */
  headers(): Record<string, string> {
    const text = this.text.trim();
    return text === '' ? {} : { 'X-Change-Reason': encodeURIComponent(text) };
  },
};

/** Of a list, one page. */
export interface Page<T> {
  items: T[];
  next: string | null;
}

/** Of a change, with doubts whether it survives a failure of Redis. */
export type Changed<T = object> = T & { warnings: string[] };
