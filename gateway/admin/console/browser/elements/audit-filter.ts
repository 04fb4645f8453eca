import { html, nothing } from 'lit';
import { formText } from '../form-text.ts';
import { isoTime, localTime } from '../local-time.ts';
import { pastedKey } from '../pasted-key.ts';
import { router } from '../router.ts';
import { LightElement } from './light-element.ts';

/** Actions by what they concern: each is the beginning of some. */
const actions = [
  ['', 'Everything'],
  ['keys', 'Keys'],
  ['plans', 'Plans'],
  ['bans', 'Bans'],
  ['addresses', 'Addresses'],
  ['policy', 'Ban policy'],
  ['usage', 'Usage retention'],
  ['console', 'Console sessions'],
  ['tokens', 'Internal tokens'],
];

/** Filter of the audit log. Its state is in the address. */
class AuditFilter extends LightElement {
  static override properties = { failure: { state: true } };

  failure: string | undefined;

  constructor() {
    super();
    this.whileConnected(() => router.subscribe(() => this.requestUpdate()));
  }

  submit(event: SubmitEvent) {
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    const text = (name: string) => formText(data, name);
    const target = text('target');
    this.failure = undefined;
    if (pastedKey(target) !== undefined) {
      const field = event.target.elements.namedItem('target');
      if (field instanceof HTMLInputElement) field.value = '';
      this.failure = 'That is an API key itself. Find its id under Customers.';
      return;
    }
    const since = isoTime(text('since'));
    const until = isoTime(text('until'));
    if (since !== '' && until !== '' && since >= until) {
      this.failure = 'The beginning has to be before the end.';
      return;
    }
    router.setQuery({ action: text('action'), who: text('who'), target, since, until }, { replace: false });
  }

  override render() {
    const { query } = router.location;
    const value = (name: string) => query.get(name) ?? '';
    const action = value('action');
    const known = actions.some(([name]) => name === action);
    const isFiltered = ['action', 'who', 'target', 'since', 'until'].some((name) => query.has(name));
    return html`<form class="filter" role="search" @submit=${this.submit}>
        <label
          >What
          <select name="action" .value=${action}>
            ${(known ? actions : [...actions, [action, action]]).map(
              ([name = '', label]) =>
                html`<option value=${name} ?selected=${name === action}>${label}</option>`,
            )}
          </select>
        </label>
        <label>Who <input name="who" maxlength="100" autocomplete="off" .value=${value('who')} /></label>
        <label
          >Key id or plan
          <input
            name="target"
            maxlength="100"
            autocomplete="off"
            spellcheck="false"
            .value=${value('target')}
        /></label>
        <label>From <input name="since" type="datetime-local" .value=${localTime(value('since'))} /></label>
        <label>To <input name="until" type="datetime-local" .value=${localTime(value('until'))} /></label>
        <div class="actions">
          <button class="wa-brand">Filter</button>
          ${isFiltered ? html`<a href="/console/audit">Show everything</a>` : nothing}
        </div>
      </form>
      ${this.failure === undefined ? nothing : html`<p class="failure-text" role="alert">${this.failure}</p>`}`;
  }
}

customElements.define('audit-filter', AuditFilter);
