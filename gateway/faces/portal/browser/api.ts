import { createApi, enterWith } from '../../browser/request.ts';
import { createSignal } from '../../browser/signal.ts';
import type { PortalSessionView } from '../portal-session-routes.ts';

const base = '/portal/api';
const noSession = 401;

/** The session of this browser. The cookie itself is out of reach of scripts. */
let current: PortalSessionView | undefined;
/** Why nobody is signed in. Empty before the session begins, and until it is over. */
let over = '';
const { notify, subscribe } = createSignal();

function setOver(why: string) {
  over = why;
  notify();
}

const ended = 'Your session has ended. Open the portal again from where you came.';

export const api = createApi(
  base,
  () => ({ 'X-CSRF-Token': current?.csrfToken ?? '' }),
  ({ status }, _attempt, path) => {
    if (status === noSession && path !== '/session' && over === '') setOver(ended);
    return false;
  },
);

export const session = {
  get current() {
    return current;
  },

  get over() {
    return over;
  },

  /**
   * Enters with the code of a link, or goes on with the session that there is.
   * @param code undefined without a link
   * @throws ApiFailure
   */
  async begin(code: string | undefined): Promise<void> {
    current = await (code === undefined
      ? api.get<PortalSessionView>('/session')
      : enterWith<PortalSessionView>(`${base}/session`, code));
    setOver('');
  },

  /** @throws ApiFailure */
  async end(): Promise<void> {
    await api.delete('/session');
    setOver('You have left the portal.');
  },

  /** Says why nobody is signed in. */
  refuse: setOver,

  /** Calls a listener when the session begins or is over. */
  subscribe,
};
