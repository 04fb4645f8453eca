import { html } from 'lit';
import { knownIn, lackingWindows } from '../../../../limits/limits.ts';
import { forPlanFields } from '../../../../limits/shadow-limits.ts';
import { windows } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { field, meantBox } from '../../../browser/elements/fields.ts';
import type { LightElement } from '../../../browser/elements/light-element.ts';
import { notify } from '../../../browser/elements/notice.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { capitalized, formatNumber, plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { enforcedText } from '../elements/settling-element.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { planLink } from '../key.ts';
import { doubtText, formLimits, limitFields } from '../limit-fields.ts';
import { issueList, limitsText } from '../plan-text.ts';
import type { Changed, Page, Plan } from '../responses.ts';
import { router } from '../router.ts';

/** All plans: what they allow, and how many customers are on them. */
class PagePlans extends PolledElement<Page<Plan>> {
  read() {
    return api.get<Page<Plan>>('/api/plans');
  }

  override render() {
    return html`${pageHead('Plans', 'New plan', () => askForPlan(this))} ${super.render()}`;
  }

  view({ items }: Page<Plan>) {
    const issues = items.flatMap(({ name, issues }) => issues.map((issue) => `${name}: ${issue}`));
    const shown = windows.filter(({ name }) => items.some((plan) => plan[name] !== undefined));
    return html`${issueList(issues)}
    ${listTable('Plans', items, [
      ['Plan', nameCell],
      ...shown.map(({ name, each }) => count<Plan>(capitalized(each), (plan) => limitCell(plan[name]))),
      [
        'In force',
        (plan) => (plan.kind === 'own_limits' ? eachHasItsOwn : enforcedText(plan, plan.running, limitsText)),
      ],
      count('Customers', customersCell),
    ])}`;
  }
}

const eachHasItsOwn = html`<span class="quiet">each customer has its own limits</span>`;

const limitCell = (limit: number | null | undefined) =>
  limit === null ? html`<span class="failure-text">invalid</span>` : limit;

function nameCell({ name, kind }: Plan) {
  if (kind === 'plan') return planLink(name);
  return kind === 'address' ? html`<a href="/console/bans">${name}</a>, each address` : name;
}

const customersCell = ({ name, customers }: Plan) =>
  customers === null
    ? null
    : html`<a
        href=${url`/console/customers?plan=${name}`}
        aria-label=${`${plural(customers, 'customer')} on ${name}`}
        >${formatNumber(customers)}</a
      >`;

customElements.define('page-plans', PagePlans);

/** Asks for the name and the limits of a new plan, makes it, and shows it. */
const askForPlan = (host: LightElement) =>
  ask(host, {
    heading: 'New plan',
    action: 'Make the plan',
    message: (form) => {
      const limits = formLimits(form);
      const lacking = lackingWindows(undefined, knownIn(limits));
      return html`${field('Name', 'name', {
          required: true,
          autofocus: true,
          maxlength: 32,
          pattern: String.raw`[a-z][a-z0-9\-]*`,
          title: 'Lower-case letters, digits and dashes, beginning with a letter',
        })}
        <p class="hint">Lower-case letters, digits and dashes. It cannot be changed later.</p>
        <div class="fields">${limitFields({ label: 'Requests', lacking })}</div>
        ${meantBox(doubtText(limits))}`;
    },
    run: async (form) => {
      const name = form('name');
      const { warnings } = await api.patch<Changed>(url`/api/plans/${name}`, {
        ...knownIn(formLimits(form)),
        create: true,
        confirmed: form('confirmed') !== '',
        expected: forPlanFields(() => null),
      });
      notify(`The plan ${name} was made. Customers can be moved to it now.`, warnings);
      router.navigate(url`/console/plans/${name}`);
    },
  });
