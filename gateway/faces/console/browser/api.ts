import { changeReason } from '../../browser/change-reason.ts';
import { createApi } from '../../browser/request.ts';
import { session } from './session.ts';

export { url } from '../../browser/url.ts';

/** The operators' API. If the session has ended, the person signs in again without leaving the page, and the call is repeated. */
export const api = createApi(
  '',
  () => ({ 'X-CSRF-Token': session.csrfToken, ...changeReason.headers() }),
  async ({ code }, attempt) => {
    if (code === 'no_session') await session.askToSignIn();
    // A session that another tab has begun has another token.
    else if (code === 'invalid_csrf_token' && attempt === 1) await session.load();
    else return false;
    return true;
  },
);
