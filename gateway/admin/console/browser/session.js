/** @typedef {{ name: string, role: 'viewer' | 'operator', expiresAt: string, csrfToken: string, version: string }} Session */

/** @type {Session | undefined} */
let current;
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {PromiseWithResolvers<boolean> | undefined} */
let waiting;

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
  get hasEnded() {
    return waiting !== undefined;
  },

  /**
   * Reads the session.
   * @returns {Promise<boolean>} whether there is one
   * @throws {TypeError} if the gateway does not respond
   */
  async load() {
    const response = await fetch('/api/session');
    if (!response.ok) return false;
    current = await response.json();
    notify();
    return true;
  },

  /**
   * Exchanges the code of a link.
   * @param {string} code
   * @returns {Promise<string | undefined>} why that failed
   */
  async signIn(code) {
    try {
      const response = await fetch('/api/session', {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify({ code }),
      });
      if (!response.ok) return (await response.json()).message;
    } catch {
      return 'The gateway does not respond.';
    }
    await session.load();
    waiting?.resolve(true);
    waiting = undefined;
    notify();
    return undefined;
  },

  /**
   * Waits until the person has signed in again.
   * @returns {Promise<boolean>} false if they gave up
   */
  signInAgain() {
    waiting ??= Promise.withResolvers();
    notify();
    return waiting.promise;
  },

  giveUp() {
    waiting?.resolve(false);
    waiting = undefined;
    notify();
  },

  async signOut() {
    await fetch('/api/session', { method: 'DELETE', headers: { 'X-CSRF-Token': session.csrfToken } });
    current = undefined;
    location.assign('/console');
  },

  /**
   * @param {() => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

function notify() {
  for (const listener of listeners) listener();
}
