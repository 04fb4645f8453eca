import { changeReason, createApi, enterWith, failureOf, request, url } from '../../browser/request.ts';
import type { Page, Session } from './responses.ts';

let current: Session | undefined;

/** The session of this browser. The cookie itself is out of reach of scripts. The event `session` of the document tells of a change. */
export const session = {
  get current() {
    return current;
  },

  get csrfToken() {
    return current?.csrfToken ?? '';
  },

  /** Whether changes are permitted. The API refuses them to a viewer in any case. */
  get isOperator() {
    return current?.role === 'operator';
  },

  /**
   * Reads the session.
   * @returns whether there is one
   * @throws ApiFailure if the gateway cannot tell
   */
  async load(): Promise<boolean> {
    const response = await request('GET', '/api/session');
    if (response.status === 401) return false;
    if (!response.ok) throw await failureOf(response);
    begin(await response.json());
    return true;
  },

  /** @throws ApiFailure that says why the link did not begin a session */
  async signIn(code: string): Promise<void> {
    begin(await enterWith<Session>('/api/session', code));
  },

  /** @throws ApiFailure */
  async signOut() {
    const headers = { 'X-CSRF-Token': session.csrfToken };
    const response = await request('DELETE', '/api/session', { headers });
    // 401: it is over already.
    if (!response.ok && response.status !== 401) throw await failureOf(response);
    location.reload();
  },
};

function begin(begun: Session) {
  current = begun;
  document.dispatchEvent(new Event('session'));
}

export { url };

/** The operators' API. If the session has ended, or another tab has begun one, the page begins anew. */
export const api = createApi(
  '',
  () => ({ 'X-CSRF-Token': session.csrfToken, ...changeReason.headers() }),
  ({ code }) => {
    if (code === 'no_session' || code === 'invalid_csrf_token') location.reload();
  },
);

/**
 * Reads pages until there are as many items as are asked for: the API reads a part of many records at a time.
 * @param path with a query
 * @returns the last page, with the items of all; undefined if nobody asks for them any more
 */
export async function readPages<Read extends Page<unknown>>(
  path: string,
  count: number,
  isAsked = () => true,
) {
  const items: Read['items'] = [];
  for (let after = ''; ;) {
    const read: Read = await api.get(path + after);
    if (!isAsked()) return undefined;
    items.push(...read.items);
    if (read.next === null || items.length >= count) return { ...read, items };
    after = url`&after=${read.next}`;
  }
}
