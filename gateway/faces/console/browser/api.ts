import { changeReason } from '../../browser/change-reason.ts';
import { createApi } from '../../browser/request.ts';
import { session } from './session.ts';

export { url } from '../../browser/request.ts';

/** The operators' API. If the session has ended, or another tab has begun one, the page begins anew. */
export const api = createApi(
  '',
  () => ({ 'X-CSRF-Token': session.csrfToken, ...changeReason.headers() }),
  ({ code }) => {
    if (code === 'no_session' || code === 'invalid_csrf_token') location.reload();
  },
);
