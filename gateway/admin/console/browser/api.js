import { session } from './session.js';

/** A response of the API that is not a success. `code` is one of the API's, or `unreachable`. */
export class ApiFailure extends Error {
  /** @param {{ code: string, message: string, status: number }} body */
  constructor({ code, message, status }) {
    super(message);
    this.name = 'ApiFailure';
    this.code = code;
    this.status = status;
  }
}

const unreachable = {
  code: 'unreachable',
  message: 'The gateway does not respond. It may be restarting: try again in a moment.',
  status: 0,
};

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
  for (;;) {
    const response = await send(method, path, body, signal);
    if (response.status === 204) return undefined;
    const content = await response.json().catch(() => undefined);
    if (response.ok) return content;
    const failure = new ApiFailure(content ?? { ...unreachable, status: response.status });
    if (failure.code !== 'no_session' || !(await session.signInAgain())) throw failure;
  }
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
