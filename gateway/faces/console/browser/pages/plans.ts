import '../elements/key-history.ts';
import { html, nothing } from 'lit';
import { defaultLimits } from '../../../../limits/limits.ts';
import { windows } from '../../../../limits/windows.ts';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { notify } from '../../../browser/elements/notice.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { count, listTable } from '../../../browser/elements/table.ts';
import { capitalized, formatNumber, plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { factList } from '../elements/fact-list.ts';
import { askForPlan, askForPlanLimits } from '../elements/plan-limits-dialog.ts';
import { enforcedText, SettlingElement } from '../elements/settling-element.ts';
import { pageHead, viewerNote } from '../elements/viewer-note.ts';
import { planLink } from '../key.ts';
import { issueList, limitsText, shadowText } from '../plan-text.ts';
import type { Changed, Page, Plan } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

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

/** One plan: its limits, its customers, and its last changes. */
class PagePlan extends SettlingElement<Plan> {
  static override properties = { item: {} };

  item = '';

  read() {
    return api.get<Plan>(url`/api/plans/${this.item}`);
  }

  askToRemove({ name }: Plan) {
    ask(this, {
      heading: `Remove the plan ${name}?`,
      action: 'Remove',
      danger: true,
      typed: name,
      message: () => html`<p>No customer can be put on it any more. This is refused if one is on it.</p>`,
      run: async () => {
        const { warnings } = await api.delete<Changed>(url`/api/plans/${name}`);
        notify(`The plan ${name} was removed.`, warnings);
        router.navigate('/console/plans');
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
      [
        'Customers',
        html`<a href=${url`/console/customers?plan=${name}`}>${plural(customers ?? 0, 'customer')}</a>`,
      ],
    ])}
    ${
      kind === 'plan'
        ? html`${
              session.isOperator
                ? html`<div class="actions">
                    <button type="button" class="primary" @click=${() => askForPlanLimits(this, plan)}>
                      Change limits…
                    </button>
                    ${
                      defaultLimits(name) === undefined && customers === 0
                        ? html`<button type="button" class="danger" @click=${() => this.askToRemove(plan)}>
                            Remove this plan
                          </button>`
                        : nothing
                    }
                  </div>`
                : nothing
            } <key-history item=${name}></key-history>`
        : html`<p>
            The limits are not those of a plan: see <a href="/console/bans">Security</a> and the pages of
            <a href="/console/customers">customers</a>.
          </p>`
    }`;
  }
}

customElements.define('page-plan', PagePlan);
