import { ApiFailure, unreachable } from './api-failure.ts';
import { session } from './session.ts';

export { ApiFailure } from './api-failure.ts';

/**
 * Calls the operators' API. If the session has ended, the person can sign in again without leaving the page, and the
 * call is repeated.
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>} the body, of the type in openapi.yaml
 * @throws {ApiFailure}
 */
async function call(method, path, body, signal) {
  for (let attempt = 1; ; attempt += 1) {
    const response = await send(method, path, body, signal);
    if (response.status === 204) return undefined;
    const content = await response.json().catch(() => undefined);
    if (response.ok) return content;
    const failure = new ApiFailure(content ?? { ...unreachable, status: response.status });
    if (!(await canRepeat(isAskedByPage(method, path), failure, attempt))) throw failure;
  }
}

/**
 * Whether a page makes the call by itself: it reads, or asks for the effect of what is typed.
 * @param {string} method
 * @param {string} path
 */
const isAskedByPage = (method, path) => method === 'GET' || path.endsWith('/effect');

/**
 * Whether a call that was refused may be made again: its person has signed in again, here or in another tab. Who did not want
 * to is asked again for a change only, and not whenever the page reads something.
 * @param {boolean} byPage
 * @param {ApiFailure} failure
 * @param {number} attempt from 1
 * @returns {Promise<boolean>}
 */
async function canRepeat(byPage, { code }, attempt) {
  if (code === 'no_session') return !(byPage && session.hasGivenUp) && session.signInAgain();
  if (code !== 'invalid_csrf_token' || attempt > 1) return false;
  // A session that another tab has begun has another token.
  await session.load();
  return true;
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} body
 * @param {AbortSignal} [signal]
 */
async function send(method, path, body, signal) {
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
  /**
   * @param {string} path
   * @param {AbortSignal} [signal]
   */
  get: (path, signal) => call('GET', path, undefined, signal),
  /**
   * @param {string} path
   * @param {unknown} [body]
   */
  post: (path, body = {}) => call('POST', path, body),
  /**
   * @param {string} path
   * @param {unknown} body
   */
  put: (path, body) => call('PUT', path, body),
  /**
   * @param {string} path
   * @param {unknown} body
   */
  patch: (path, body) => call('PATCH', path, body),
  /**
   * @param {string} path
   * @param {unknown} [body]
   */
  delete: (path, body) => call('DELETE', path, body),
};
