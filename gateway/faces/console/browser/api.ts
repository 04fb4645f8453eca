import type { ApiFailure } from '../../browser/api-failure.ts';
import { changeReason } from '../../browser/change-reason.ts';
import { failureOf, request } from '../../browser/request.ts';
import { session } from './session.ts';

/**
 * Calls the operators' API. If the session has ended, the person can sign in again without leaving the page, and the
 * call is repeated.
 * @returns the body, which is what responses.ts says
 * @throws ApiFailure
 */
async function call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const isChange = method !== 'GET';
  const byPage = isAskedByPage(method, path);
  for (let attempt = 1; ; attempt += 1) {
    const headers = isChange ? { 'X-CSRF-Token': session.csrfToken, ...changeReason.headers() } : {};
    const response = await request(method, path, { body, headers, signal });
    if (response.ok) {
      if (!byPage) changeReason.text = '';
      return response.json().catch(() => undefined);
    }
    const failure = await failureOf(response);
    if (!(await canRepeat(byPage, failure, attempt))) throw failure;
  }
}

/** Whether a page makes the call by itself: it reads, or asks for a preview of what is typed. */
const isAskedByPage = (method: string, path: string) => method === 'GET' || path.endsWith('/preview');

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

export const api = {
  get: <T>(path: string, signal?: AbortSignal) => call<T>('GET', path, undefined, signal),
  post: <T>(path: string, body: unknown = {}) => call<T>('POST', path, body),
  put: <T>(path: string, body: unknown) => call<T>('PUT', path, body),
  patch: <T>(path: string, body: unknown) => call<T>('PATCH', path, body),
  delete: <T>(path: string, body?: unknown) => call<T>('DELETE', path, body),
};
