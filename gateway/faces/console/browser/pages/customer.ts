import { html, nothing } from 'lit';
import { customerFields } from '../../../../limits/record-fields.ts';
import type { WindowName } from '../../../../limits/windows.ts';
import { failureTable, usageDays, windowMeters } from '../../../browser/elements/customer-use.ts';
import { keyColumns, scopesOf } from '../../../browser/elements/key-columns.ts';
import { menu, menuColumn } from '../../../browser/elements/menu.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { formatNumber, formatTime } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { askForCustomerFacts, askForLimits, customerActions } from '../elements/customer-dialogs.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList, recordFacts } from '../elements/fact-list.ts';
import { askToAddKey, keyActions } from '../elements/key-dialogs.ts';
import { apiPath, keyLink, keyTitle } from '../key.ts';
import type { CustomerDetail, DayUsage, Failure, KeyRow, Page } from '../responses.ts';
import { session } from '../session.ts';

/** With its use by day, and its last failed requests. */
type Shown = CustomerDetail & { days: DayUsage[]; failures: Failure[] };

/** One customer: what it uses, its keys, and everything that can be done about it. */
class PageCustomer extends DetailPage<Shown> {
  async read() {
    const path = apiPath(this.item);
    const [detail, { items: days }, { items: failures }] = await Promise.all([
      this.readDetail<CustomerDetail>(),
      api.get<Page<DayUsage>>(`${path}/usage?days=30`),
      api.get<Page<Failure>>(`${path}/failures`),
    ]);
    return { ...detail, days, failures };
  }

  actions(customer: Shown) {
    return html`<button type="button" class="primary" @click=${() => askToAddKey(this, customer)}>
        Add key…
      </button>
      ${menu('customer-menu', html`More <span aria-hidden="true">▾</span>`, customerActions(this, customer))}`;
  }

  body(customer: Shown) {
    const { id, createdAt, items, days, failures } = customer;
    return html`<div class="section-head">
        <h2>Use now</h2>
        ${change('Change limits…', 'Change limits…', () => askForLimits(this, customer))}
      </div>
      ${windowMeters(customer, (name) => limitSource(customer, name))} ${usageDays(days)}
      <h2>Keys</h2>
      ${listTable(
        'Keys',
        items,
        [
          ['Name', keyLink, '', keyTitle],
          ...keyColumns,
          ['Scopes', ({ scopes }) => scopesOf(scopes), 'minor'],
          session.isOperator && menuColumn<KeyRow>(keyTitle, (key) => keyActions(this, key)),
        ],
        { none: 'It has none.' },
      )}
      <div class="section-head">
        <h2>About</h2>
        ${change('Change…', 'Change details…', () => askForCustomerFacts(this, customer))}
      </div>
      ${factList([
        ['Id', html`<code>${id}</code>`],
        ...Object.values(recordFacts(customerFields, customer)),
        ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ])}
      <h2>Last failed requests</h2>
      ${failureTable(failures, ({ keyId }) => keyLink({ id: keyId, name: keyId }))}`;
  }
}

customElements.define('page-customer', PageCustomer);

/** Opens a dialog, for operators. */
const change = (text: string, label: string, act: () => unknown) =>
  session.isOperator
    ? html`<button type="button" class="plain" aria-label=${label} @click=${act}>${text}</button>`
    : nothing;

/** Where a limit comes from that is not simply that of the plan. */
function limitSource({ limits }: CustomerDetail, name: WindowName) {
  const { from, plan } = limits[name] ?? { from: 'plan' };
  if (from === 'plan') return nothing;
  return html`<p class="quiet">
    ${
      from === 'customer'
        ? `Own limit. Its plan has ${plan ? formatNumber(plan) : 'none'}.`
        : 'The plan has no valid limit in Redis, so gateways keep the last one.'
    }
  </p>`;
}
