import '../elements/detail-page.ts';
import { html, nothing } from 'lit';
import { defaultLimits } from '../../../../limits/limits.ts';
import { windows } from '../../../../limits/windows.ts';
import type { Action } from '../../../browser/elements/menu.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count } from '../../../browser/elements/table.ts';
import { capitalized, formatNumber, plural } from '../../../browser/format.ts';
import { api, url } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { operatorActions, viewerNote } from '../elements/page-head.ts';
import { askForPlanLimits } from '../elements/plan-limits-dialog.ts';
import { planLink } from '../key.ts';
import type { Page, Plan } from '../responses.ts';
import { router } from '../router.ts';
import { enforcedText, issueList, limitsText, shadowText } from '../setting-text.ts';

/** All plans: what they allow, and how many customers are on them. */
class PagePlans extends ListPage<Plan> {
  override readonly none = 'There are no plans.';

  override actions(): Action[] {
    return [{ text: 'New plan', tone: 'primary', act: () => askForPlanLimits(this) }];
  }

  override view(content: Page<Plan>) {
    const issues = content.items.flatMap(({ name, issues }) => issues.map((issue) => `${name}: ${issue}`));
    return html`${issueList(issues)} ${super.view(content)}`;
  }

  override columns(plans: readonly Plan[]): Columns<Plan> {
    const shown = windows.filter(({ name }) => plans.some((plan) => plan[name] !== undefined));
    return [
      ['Plan', nameCell, '', ({ name }) => name],
      ...shown.map(({ name, each }) => count<Plan>(capitalized(each), (plan) => plan[name])),
      [
        'In force',
        (plan) => (plan.kind === 'own_limits' ? eachHasItsOwn : enforcedText(plan, plan.running, limitsText)),
      ],
      count('Customers', (plan) =>
        plan.customers === null ? null : customersLink(plan, formatNumber(plan.customers)),
      ),
    ];
  }
}

const eachHasItsOwn = html`<span class="quiet">each customer has its own limits</span>`;

function nameCell({ name, kind }: Plan) {
  if (kind === 'plan') return planLink(name);
  return kind === 'address' ? html`<a href="/console/bans">${name}</a>, each address` : name;
}

const customersLink = ({ name }: Plan, text: string) =>
  html`<a href=${url`/console/customers?plan=${name}`}>${text}</a>`;

customElements.define('page-plans', PagePlans);

/** One plan: its limits, its customers, and its last changes. */
class PagePlan extends PolledElement<Plan> {
  read() {
    return api.get<Plan>(url`/api/plans/${this.item}`);
  }

  askToRemove({ name }: Plan) {
    this.confirm({
      heading: `Remove the plan ${name}?`,
      action: 'Remove',
      typed: name,
      says: 'No customer can be put on it any more. This is refused if one is on it.',
      change: () => api.delete(url`/api/plans/${name}`),
      done: () => {
        router.navigate('/console/plans');
        return `The plan ${name} was removed.`;
      },
    });
  }

  override render() {
    return html`${this.content && html`<p><a href="/console/plans">All plans</a></p>`}
      <h1>${this.item}</h1>
      ${super.render()}`;
  }

  view(plan: Plan) {
    const { issues, name, customers, kind } = plan;
    return html`${viewerNote()} ${issueList(issues)}
    ${factList([
      ['Limits', limitsText(plan)],
      ['Shadow limits, counted only', shadowText(plan)],
      ['In force', enforcedText(plan, plan.running, limitsText, this.isSettling)],
      ['Customers', customersLink(plan, plural(customers ?? 0, 'customer'))],
    ])}
    ${
      kind === 'plan'
        ? html`${operatorActions(
              { text: 'Change limits…', tone: 'primary', act: () => askForPlanLimits(this, plan) },
              defaultLimits(name) === undefined && {
                text: 'Remove this plan',
                tone: 'danger',
                act: () => this.askToRemove(plan),
              },
            )} <last-changes item=${name}></last-changes>`
        : nothing
    }`;
  }
}

customElements.define('page-plan', PagePlan);
