import { html } from 'lit';
import { defaultLimits } from '../../../../limits/limits.ts';
import { windows } from '../../../../limits/windows.ts';
import { actionButtons, menuColumn, type Action } from '../../../browser/elements/menu.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count } from '../../../browser/elements/table.ts';
import { capitalized, formatNumber, plural } from '../../../browser/format.ts';
import { api, session, url } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList } from '../elements/fact-list.ts';
import { askForPlanLimits } from '../elements/limit-dialogs.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { offers } from '../elements/operation-dialog.ts';
import { planLink } from '../key.ts';
import type { Page, Plan } from '../responses.ts';
import { enforcedText, issueList, limitsText, shadowText } from '../setting-text.ts';

/** All plans: what they allow, and how many customers are on them. */
export class PagePlans extends ListPage<Plan> {
  override readonly none = 'There are no plans.';

  override actions(): Action[] {
    return [{ text: 'New plan…', tone: 'primary', act: () => askForPlanLimits(this) }];
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
      session.isOperator &&
        menuColumn<Plan>(
          ({ name }) => name,
          (plan) => planActions(this, plan),
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

/** One plan: its limits, its customers, and its last changes. */
export class PagePlan extends DetailPage<Plan> {
  override readonly noun = 'plan';

  read() {
    return api.get<Plan>(url`/api/plans/${this.item}`);
  }

  actions(plan: Plan) {
    return actionButtons(planActions(this, plan));
  }

  view(plan: Plan) {
    return html`${issueList(plan.issues)}
    ${factList([
      ['Limits', limitsText(plan)],
      ['Shadow limits, counted only', shadowText(plan)],
      ['In force', enforcedText(plan, plan.running, limitsText)],
      ['Customers', customersLink(plan, plural(plan.customers ?? 0, 'customer'))],
    ])}`;
  }
}

/** What can be done with a plan; nothing with one whose limits are elsewhere. */
function planActions(page: PolledElement<unknown>, plan: Plan): (Action | false)[] {
  if (plan.kind !== 'plan') return [];
  const isDefault = defaultLimits(plan.name) !== undefined;
  return [
    { text: 'Change limits…', act: () => askForPlanLimits(page, plan) },
    ...(isDefault ? [] : offers(page, 'plan', plan)),
  ];
}
