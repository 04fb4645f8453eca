import { ApiFailure, unreachable } from './api-failure.ts';
import { session } from './session.ts';

export { ApiFailure } from './api-failure.ts';

/**
 * Calls the operators' API. If the session has ended, the person can sign in again without leaving the page, and the
 * call is repeated.
 * @returns the body, of the type in openapi.yaml
 * @throws ApiFailure
 */
async function call(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<any> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(method, path, body, signal);
    if (response.status === 204) return undefined;
    const content = await response.json().catch(() => undefined);
    if (response.ok) return content;
    const failure = new ApiFailure(content ?? { ...unreachable, status: response.status });
    if (!(await canRepeat(isAskedByPage(method, path), failure, attempt))) throw failure;
  }
}

/** Whether a page makes the call by itself: it reads, or asks for the effect of what is typed. */
const isAskedByPage = (method: string, path: string) => method === 'GET' || path.endsWith('/effect');

/**
 * Whether a call that was refused may be made again: its person has signed in again, here or in another tab. Who did not want
 * to is asked again for a change only, and not whenever the page reads something.
 * @param attempt from 1
 */
async function canRepeat(byPage: boolean, { code }: ApiFailure, attempt: number): Promise<boolean> {
  if (code === 'no_session') return !(byPage && session.hasGivenUp) && session.signInAgain();
  if (code !== 'invalid_csrf_token' || attempt > 1) return false;
  // A session that another tab has begun has another token.
  await session.load();
  return true;
}

async function send(method: string, path: string, body: unknown, signal?: AbortSignal) {
  const isChange = method !== 'GET';
  try {
    return await fetch(path, {
      method,
      ...(signal === undefined ? {} : { signal }),
      headers: {
        ...(isChange ? { 'X-CSRF-Token': session.csrfToken } : {}),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiFailure(unreachable);
  }
}

export const api = {
  get: (path: string, signal?: AbortSignal) => call('GET', path, undefined, signal),
  post: (path: string, body: unknown = {}) => call('POST', path, body),
  put: (path: string, body: unknown) => call('PUT', path, body),
  patch: (path: string, body: unknown) => call('PATCH', path, body),
  delete: (path: string, body?: unknown) => call('DELETE', path, body),
};
