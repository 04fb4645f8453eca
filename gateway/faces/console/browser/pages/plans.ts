import { html } from 'lit';
import { windows } from '../../../../limits/windows.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { capitalized, formatNumber, plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { askForPlan } from '../elements/plan-limits-dialog.ts';
import { enforcedText } from '../elements/settling-element.ts';
import { pageHead } from '../elements/viewer-note.ts';
import { planLink } from '../key.ts';
import { issueList, limitsText } from '../plan-text.ts';
import type { Page, Plan } from '../responses.ts';

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
      ['Plan', nameCell, '', ({ name }) => name],
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
