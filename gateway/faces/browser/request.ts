import { ApiFailure, unreachable } from './api-failure.ts';

interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

/**
 * Sends a request to the gateway of this page.
 * @throws ApiFailure without a response
 */
export async function request(
  method: string,
  path: string,
  { body, headers, signal }: RequestOptions = {},
): Promise<Response> {
  try {
    return await fetch(path, {
      method,
      signal: signal ?? null,
      headers: { ...headers, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      body: body === undefined ? null : JSON.stringify(body),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
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
  const body = await response.json().catch(() => ({ ...unreachable, status: response.status }));
  return new ApiFailure({ ...body, retryAfterMs: 1000 * Number(response.headers.get('Retry-After') ?? 0) });
}
