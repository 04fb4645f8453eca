import { enterWith, failureOf, request } from '../../browser/request.ts';
import { createSignal } from '../../browser/signal.ts';
import type { Session } from './responses.ts';

let current: Session | undefined;
const { notify, subscribe } = createSignal();
let waiting: PromiseWithResolvers<void> | undefined;

/** Tabs share the cookie, so that a link that is opened in one of them signs in all of them. */
const tabs = new BroadcastChannel('console-session');

/** The session of this browser. The cookie itself is out of reach of scripts. */
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

  /** Whether a dialog asks to sign in again. */
  get isAsking() {
    return waiting !== undefined;
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
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin only
    tabs.postMessage('signed in');
  },

  /** Waits until the person has signed in again. */
  signInAgain(): Promise<void> {
    waiting ??= Promise.withResolvers();
    notify();
    return waiting.promise;
  },

  /** @throws ApiFailure */
  async signOut() {
    const headers = { 'X-CSRF-Token': session.csrfToken };
    const response = await request('DELETE', '/api/session', { headers });
    // 401: it is over already.
    if (!response.ok && response.status !== 401) throw await failureOf(response);
    location.reload();
  },

  /** Calls a listener after each change. */
  subscribe,
};

function begin(begun: Session) {
  current = begun;
  waiting?.resolve();
  waiting = undefined;
  notify();
}

/** Nothing is lost if that fails: the next call says so. */
const reload = () => void session.load().catch(() => {});

tabs.addEventListener('message', () => {
  if (current !== undefined) reload();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && waiting !== undefined) reload();
});
