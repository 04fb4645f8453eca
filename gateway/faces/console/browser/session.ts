import { html, nothing } from 'lit';
import { ask } from '../../browser/elements/ask-dialog.ts';
import { field, type FormTexts } from '../../browser/elements/fields.ts';
import { ApiFailure, enterWith, failureOf, request } from '../../browser/request.ts';
import type { Session } from './responses.ts';

/** Time between looks whether another tab has signed in: tabs share the cookie, and so a link that is opened in one of them. */
const lookMs = 1000;

let current: Session | undefined;
/** Is settled when the person whom a dialog asks has signed in. */
let asked: PromiseWithResolvers<void> | undefined;

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

  /** Asks to sign in, over a page that stays as it is, until there is a session. @param failure why a link was refused */
  async askToSignIn(failure?: unknown): Promise<void> {
    if (asked !== undefined) return asked.promise;
    asked = Promise.withResolvers();
    const close = ask(undefined, { ...question(current === undefined), failure });
    // Nothing is lost if that fails.
    const looks = setInterval(() => void session.load().catch(() => {}), lookMs);
    await asked.promise;
    clearInterval(looks);
    close();
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
  asked?.resolve();
  asked = undefined;
  document.dispatchEvent(new Event('session'));
}

const question = (isFirst: boolean) => ({
  heading: isFirst ? 'Sign in' : 'Your session has ended',
  action: 'Sign in',
  asksReason: false,
  isRequired: true,
  message: () =>
    html`${isFirst ? nothing : html`<p>Nothing that you have typed is lost. What you were doing goes on after you sign in.</p>`}
      <p>Get a link that works once, within five minutes, where the gateway is installed:</p>
      <pre tabindex="0"><code>npm run --silent ops -- console</code></pre>
      <p class="quiet">In a container: <code>node gateway/faces/command/main.ts console</code></p>
      <p class="quiet">A session lasts twelve hours. It ends earlier if Redis loses its data.</p>
      ${field('Link or code', 'code', { required: true, autofocus: true, maxlength: 1000 })}`,
  run: signInWith,
});

/** Signs in with the link or code that was pasted. */
async function signInWith(form: FormTexts) {
  const [code] = /(?<=^|#code=)[\w-]{22}$/.exec(form('code')) ?? [];
  if (code !== undefined) return session.signIn(code);
  const message = 'This is no link of ops console: it ends with #code= and 22 characters. Paste all of it.';
  throw new ApiFailure({ code: 'invalid_code', message });
}
