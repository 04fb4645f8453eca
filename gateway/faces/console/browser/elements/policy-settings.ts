import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { checkbox, field, type FormTexts } from '../../../browser/elements/fields.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { formatNumber, sentence } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { fetchPlans } from '../limit-fields.ts';
import { banPolicyGroup, type PolicyGroup } from '../policy-groups.ts';
import type { Changed, KeyPlan, Policy, PolicyState } from '../responses.ts';
import { enforcedText, issueList } from '../setting-text.ts';
import { head } from './page-head.ts';

interface Shown {
  state: PolicyState;
  /** Values of the group that are in force; undefined if some are not known. */
  known: object | undefined;
  /** All values, the defaults where others are not known. */
  shown: Policy;
  plans: KeyPlan[];
}

/** Values of the policy that belong together: what they do, who enforces them, and how they are changed. */
class PolicySettings extends PolledElement<Shown> {
  group: PolicyGroup = banPolicyGroup;

  async read() {
    const [state, plans] = await Promise.all([api.get<PolicyState>('/api/policy'), fetchPlans()]);
    const known = this.own(state.stored) ?? this.own(state.enforced[0]?.value ?? {});
    const shown = { ...state.defaults, ...known };
    return { state, known, shown, plans: plans.filter(({ needsOwnLimits }) => !needsOwnLimits) };
  }

  /** The values of the group among all; undefined if some are not known. */
  own(values: Partial<Policy>) {
    const { fields, switched } = this.group;
    const names = [...(switched ? (['enabled'] as const) : []), ...fields.map(({ name }) => name)];
    const own = Object.fromEntries(names.map((name) => [name, values[name]]));
    return Object.values(own).includes(undefined) ? undefined : own;
  }

  effect(values: Policy, plans: KeyPlan[]) {
    return this.group.effect(values, plans).map((sentence) => html`<p>${sentence}</p>`);
  }

  /** Without numbers that are out of range, which a form does not send. */
  typed(form: FormTexts): Partial<Policy> {
    const { fields, switched } = this.group;
    const given = fields.filter(
      ({ name, min, max }) => Number(form(name)) >= min && Number(form(name)) <= max,
    );
    return {
      ...Object.fromEntries(given.map(({ name }) => [name, Number(form(name))])),
      ...(switched && { enabled: form('enabled') !== '' }),
    };
  }

  askToChange({ state: { stored, defaults }, shown, plans }: Shown) {
    const { heading, fields, switched } = this.group;
    ask(this, {
      heading,
      action: 'Save',
      message: (form) =>
        html`${switched ? checkbox(switched, 'enabled', { checked: shown.enabled }) : nothing}
          <div class="grid">
            ${fields.map(({ name, label, meaning, min, max, decimals }, index) =>
              field(label, name, {
                type: 'number',
                required: true,
                autofocus: index === 0,
                min,
                max,
                step: decimals ? '0.001' : '1',
                value: shown[name],
                hint: `${sentence(meaning)} Default ${formatNumber(defaults[name])}.`,
              }),
            )}
          </div>
          <div class="panel" aria-live="polite">
            ${this.effect({ ...shown, ...this.typed(form) }, plans)}
          </div>`,
      run: (form) =>
        this.saved(
          api.patch<Changed>('/api/policy', { ...this.typed(form), expected: this.own(stored) ?? {} }),
          `${heading}: saved, in force within a second.`,
        ),
    });
  }

  override render() {
    const { content, group } = this;
    const change = content && { text: 'Change…', act: () => this.askToChange(content) };
    return html`${head(html`<h2>${group.heading}</h2>`, change ?? false)} ${super.render()}`;
  }

  view({ state, known, shown, plans }: Shown) {
    const running = state.enforced.reduce((sum, { gateways }) => sum + gateways, state.gateways);
    return html`${this.own(state.stored) === undefined ? issueList(state.issues) : nothing}
      ${known && this.effect(shown, plans)}
      <p class="quiet">In force: ${enforcedText(state, running, () => 'other values', this.isSettling)}</p>`;
  }
}

customElements.define('policy-settings', PolicySettings);
