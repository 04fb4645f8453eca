import { html, nothing } from 'lit';
import { customerFields } from '../../../../limits/record-fields.ts';
import type { WindowName } from '../../../../limits/windows.ts';
import { keyColumns, scopesOf } from '../../../browser/elements/key-columns.ts';
import { menu, menuColumn } from '../../../browser/elements/menu.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { windowMeters } from '../../../browser/elements/window-meter.ts';
import { formatNumber, formatTime } from '../../../browser/format.ts';
import { customerActions } from '../elements/customer-actions.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { askForCustomerFacts, askForLimits } from '../elements/edit-dialogs.ts';
import { factList, recordFacts } from '../elements/fact-list.ts';
import { keyActions } from '../elements/key-actions.ts';
import { askToAddKey } from '../elements/new-key-dialogs.ts';
import { keyLink, keyTitle } from '../key.ts';
import type { CustomerDetail, KeyRow } from '../responses.ts';
import { session } from '../session.ts';

/** One customer: what it uses, its keys, and everything that can be done about it. */
class PageCustomer extends DetailPage<CustomerDetail> {
  actions(customer: CustomerDetail) {
    return html`<button
        type="button"
        class="primary"
        @click=${() => askToAddKey(this, customer, () => this.reload())}
      >
        Add key…
      </button>
      ${menu('customer-menu', html`More <span aria-hidden="true">▾</span>`, customerActions(this, customer))}`;
  }

  body(customer: CustomerDetail) {
    const { id, createdAt, items } = customer;
    return html`<div class="section-head">
        <h2>Use now</h2>
        ${change('Change limits…', 'Change limits…', () => askForLimits(this, customer))}
      </div>
      ${windowMeters(customer, (name) => limitSource(customer, name))}
      <customer-days item=${id}></customer-days>
      <h2>Keys</h2>
      ${
        items.length === 0
          ? html`<p class="quiet">It has none.</p>`
          : listTable('Keys', items, [
              ['Name', keyLink, '', keyTitle],
              ...keyColumns,
              ['Scopes', ({ scopes }) => scopesOf(scopes), 'minor'],
              session.isOperator && menuColumn<KeyRow>(keyTitle, (key) => keyActions(this, key)),
            ])
      }
      <div class="section-head">
        <h2>About</h2>
        ${change('Change…', 'Change details…', () => askForCustomerFacts(this, customer))}
      </div>
      ${factList([
        ['Id', html`<code>${id}</code>`],
        ...Object.values(recordFacts(customerFields, customer)),
        ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ])}`;
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
