import '../elements/new-plan-dialog.ts';
import { html, nothing } from 'lit';
import { windows } from '../../../../limits/windows.ts';
import { api } from '../api.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { LightElement } from '../elements/light-element.ts';
import { inlineFailure } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatNumber } from '../format.ts';
import { countedText, enforcedText, issueList, limitsText, refusedText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { Plan, Plans } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** All plans: what they allow, who is on them, and whose limits are too low. */
class PagePlans extends LightElement {
  static override properties = { plans: { state: true } };

  plans: Plans | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.plans?.counting ? 1000 : 5000),
  );

  async load() {
    this.plans = await api.get<Plans>('/api/plans');
  }

  override render() {
    return html`<div class="page-head">
        <h1>Plans</h1>
        ${session.isOperator ? html`<button type="button" @click=${() => showDialog(this, 'new-plan-dialog')}>New plan</button>` : nothing}
      </div>
      ${viewerNote()}
      ${
        this.plans === undefined
          ? this.refresher.placeholder()
          : html`${inlineFailure(this.refresher.failure)}${this.table(this.plans)}`
      }
      <new-plan-dialog></new-plan-dialog>`;
  }

  table({ items, gateways, keysAsOf, counting }: Plans) {
    const issues = items.flatMap(({ name, issues }) => issues.map((issue) => `${name}: ${issue}`));
    const shown = windows.filter(
      ({ name, required }) => required || items.some((plan) => (plan[name] ?? null) !== null),
    );
    const headings = [
      'Plan',
      ...shown.map(({ each }) => numeric(`${each.charAt(0).toUpperCase()}${each.slice(1)}`)),
      'In force',
      numeric('Keys'),
      numeric('Refused, last hour'),
      'On trial',
    ];
    const rows = items.map((plan) => row(plan, shown, gateways));
    return html`${issueList(issues)} ${table({ label: 'Plans', headings, rows })}
      <p class="quiet">${countedText(keysAsOf, counting)}</p>`;
  }
}

function row(plan: Plan, shown: typeof windows, gateways: number) {
  return html`<tr>
    <th scope="row">${nameLink(plan)}</th>
    ${plan.kind === 'own_limits' ? html`<td colspan=${shown.length + 1} class="quiet">each customer has its own limits</td>` : limitCells(plan, shown, gateways)}
    <td class="number">${keysCell(plan)}</td>
    <td class="number">${refusedText(plan.lastHour)}</td>
    <td>
      ${plan.trial === null ? nothing : html`<span class="tag caution">${limitsText(plan.trial)}</span>`}
    </td>
  </tr>`;
}

const limitCells = (plan: Plan, shown: typeof windows, gateways: number) =>
  html`${shown.map(
      ({ name, required }) =>
        html`<td class="number">
          ${limitCell(plan[name] ?? null, required && (plan.kind !== 'address' || name === 'minute'))}
        </td>`,
    )}
    <td>${enforcedText(plan, gateways)}</td>`;

function limitCell(limit: number | null, required: boolean) {
  if (limit !== null) return formatNumber(limit);
  return required ? html`<span class="failure-text">invalid</span>` : '–';
}

function nameLink({ name, kind }: Plan) {
  if (kind === 'plan') return html`<a href=${url`/console/plans/${name}`}>${name}</a>`;
  return kind === 'address' ? html`<a href="/console/settings">${name}</a>, each address` : name;
}

function keysCell({ name, kind, keys }: Plan) {
  if (kind === 'address') return '–';
  if (keys === null) return html`<span class="quiet">…</span>`;
  return html`<a href=${url`/console/keys?plan=${name}`} aria-label=${`${formatNumber(keys)} keys on ${name}`}
    >${formatNumber(keys)}</a
  >`;
}

customElements.define('page-plans', PagePlans);
