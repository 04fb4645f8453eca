import { createApi, enterWith } from '../../browser/request.ts';
import type { PortalSessionView } from '../portal-api.ts';

const base = '/portal/api';

/** The session of this browser. The cookie itself is out of reach of scripts. */
let current: PortalSessionView | undefined;

export const api = createApi(base, () => ({ 'X-CSRF-Token': current?.csrfToken ?? '' }));

export const session = {
  get current() {
    return current;
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
  },

  /** @throws ApiFailure */
  async end(): Promise<void> {
    await api.delete('/session');
    current = undefined;
  },
};
