import { html, nothing } from 'lit';
import type { AuditAction } from '../../../../platform/redis/audit-actions.ts';
import { choice, field } from '../../../browser/elements/fields.ts';
import { LightElement } from '../../../browser/elements/light-element.ts';
import { wrongInput } from '../../../browser/elements/page-state.ts';
import { formTexts } from '../../../browser/form-text.ts';
import { isoTime, localTime } from '../local-time.ts';
import { pastedKey } from '../pasted-key.ts';
import { router } from '../router.ts';

type ActionGroup = AuditAction extends `${infer Group}.${string}` ? Group : never;

/** What actions concern: the beginning of their names. */
const groups: Record<ActionGroup, string> = {
  customers: 'Customers',
  keys: 'Keys',
  plans: 'Plans',
  bans: 'Bans',
  policy: 'Ban policy',
  usage: 'Usage',
  webhooks: 'Webhooks',
  portal: 'Portal',
  console: 'Console sessions',
  'api-tokens': 'API tokens',
  tokens: 'Internal tokens',
};

/** Parameters of the address that choose entries. */
export const auditParameters = ['action', 'who', 'target', 'since', 'until'];

/** Filter of the audit log. Its state is in the address. */
class AuditFilter extends LightElement {
  failure: string | undefined;

  constructor() {
    super();
    this.whileConnected(() => router.subscribe(() => this.requestUpdate()));
  }

  submit(event: SubmitEvent) {
    const text = formTexts(event);
    const [target, since, until] = [text('target'), isoTime(text('since')), isoTime(text('until'))];
    this.failure = undefined;
    const withKey = ['who', 'target'].find((name) => pastedKey(text(name)) !== undefined);
    if (withKey !== undefined) {
      const input = this.querySelector(`[name="${withKey}"]`);
      if (input instanceof HTMLInputElement) input.value = '';
      this.failure = 'That is an API key itself. Find its id under Keys.';
    } else {
      router.setQuery({ action: text('action'), who: text('who'), target, since, until }, { replace: false });
    }
  }

  override render() {
    const { query } = router.location;
    const value = (name: string) => query.get(name) ?? '';
    const time = (label: string, name: string) =>
      field(label, name, { type: 'datetime-local', value: localTime(value(name)) });
    return html`<form class="filter" role="search" @submit=${this.submit}>
        ${choice('What', 'action', [['', 'Everything'], ...Object.entries(groups)], { value: value('action') })}
        ${field('Who', 'who', { value: value('who') })}
        ${field('Id of a customer or key, or plan', 'target', { value: value('target') })}
        ${time('From', 'since')} ${time('To', 'until')}
        <div class="actions">
          <button class="primary">Filter</button>
          ${
            auditParameters.some((name) => query.has(name))
              ? html`<a href="/console/audit">Show everything</a>`
              : nothing
          }
        </div>
      </form>
      ${wrongInput(this.failure)}`;
  }
}

customElements.define('audit-filter', AuditFilter);
