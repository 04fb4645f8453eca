import { html } from 'lit';
import { policyFields } from '../../../../limits/setting-fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber } from '../../../browser/format.ts';
import { api } from '../api.ts';
import type { PolicyState } from '../responses.ts';
import { enforcedText, issueList } from '../setting-text.ts';
import { factList } from './fact-list.ts';
import { offer } from './operation-dialog.ts';
import { head } from './page-head.ts';

/** The policy: its values, and who enforces them. */
class PolicySettings extends PolledElement<PolicyState> {
  read() {
    return api.get<PolicyState>('/api/policy');
  }

  override render() {
    const { content } = this;
    const change = content && offer(this, 'setPolicy', { ...valuesOf(content), expected: content.stored });
    return html`${head(html`<h2>Policy</h2>`, change ?? false)} ${super.render()}`;
  }

  view(state: PolicyState) {
    const { enabled, ...numbers } = valuesOf(state);
    const known = new Map(Object.entries(numbers));
    const running = state.enforced.reduce((sum, { gateways }) => sum + gateways, state.gateways);
    return html`${issueList(state.issues)}
      ${factList([
        ['Bans of keys that go on after 429', enabled ? 'on' : 'off'],
        ...Object.entries(policyFields).map(
          ([name, { label }]) => [label, formatNumber(known.get(name) ?? null)] as const,
        ),
      ])}
      <p class="quiet">In force: ${enforcedText(state, running, () => 'other values')}</p>`;
  }
}

/** What is stored, or else enforced, or else the defaults. */
const valuesOf = ({ defaults, enforced, stored }: PolicyState) => ({
  ...defaults,
  ...enforced[0]?.value,
  ...stored,
});

customElements.define('policy-settings', PolicySettings);
