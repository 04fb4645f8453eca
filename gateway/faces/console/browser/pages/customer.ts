import { html, nothing } from 'lit';
import type { OwnFields } from '../../../../keys/api-key-record.ts';
import { customerFields, keyFields } from '../../../../limits/record-fields.ts';
import type { WindowName } from '../../../../limits/windows.ts';
import { failureTable, usageDays, windowMeters } from '../../../browser/elements/customer-use.ts';
import { hintOf, keyColumns } from '../../../browser/elements/key-columns.ts';
import { actionButtons, menu, menuColumn } from '../../../browser/elements/menu.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { formatNumber, formatRelative, formatTime } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { askForCustomerFacts, askForLimits, customerActions } from '../elements/customer-dialogs.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList, recordFacts, type Fact } from '../elements/fact-list.ts';
import { askToAddKey, keyActions } from '../elements/key-dialogs.ts';
import { head } from '../elements/page-head.ts';
import { apiPath, keyLink, keyTitle } from '../key.ts';
import type { CustomerDetail, DayUsage, Failure, KeyDetail, KeyRow, Page } from '../responses.ts';
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
    return html`${head(html`<h2>Use now</h2>`, {
        text: 'Change limits…',
        tone: 'plain',
        act: () => askForLimits(this, customer),
      })}
      ${windowMeters(customer, (name) => limitSource(customer, name))} ${usageDays(days)}
      <h2>Keys</h2>
      ${listTable(
        'Keys',
        items,
        [
          ['Name', keyLink, '', keyTitle],
          ...keyColumns,
          session.isOperator && menuColumn<KeyRow>(keyTitle, (key) => keyActions(this, key)),
        ],
        { none: 'It has none.' },
      )}
      ${head(html`<h2>About</h2>`, {
        text: 'Change details…',
        tone: 'plain',
        act: () => askForCustomerFacts(this, customer),
      })}
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

/** Where a limit comes from that is not simply that of the plan. */
function limitSource({ limits }: CustomerDetail, name: WindowName) {
  const { from, plan } = limits[name] ?? { from: 'plan' };
  if (from === 'plan') return nothing;
  const own = `Own limit. Its plan has ${plan ? formatNumber(plan) : 'none'}.`;
  const lost = 'The plan has no valid limit in Redis, so gateways keep the last one.';
  return html`<p class="quiet">${from === 'customer' ? own : lost}</p>`;
}

/** One API key: its state, what it uses, and everything that can be done about it. */
class PageKey extends DetailPage<KeyDetail> {
  /** Its customer, for its name. Read once. */
  customer: { id: string; name: string } | undefined;

  async read() {
    const key = await this.readDetail<KeyDetail>();
    this.customer ??= await api.get<CustomerDetail>(apiPath(key.customerId));
    return key;
  }

  actions(key: KeyDetail) {
    return actionButtons(keyActions(this, key));
  }

  body(key: KeyDetail) {
    const customer = this.customer ?? other(key.customerId);
    const { id, createdAt, replaces, replacedBy, strikes, strikesToBan, lastUsedAt } = key;
    const facts = {
      id: ['Id', html`<code>${id}</code>`],
      customerId: ['Customer', html`${keyLink(customer)}, which has the plan and the limits`],
      hint: ['Key', hintOf(key)],
      createdAt: ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ...recordFacts(keyFields, key),
      use: [
        'Last used',
        lastUsedAt === null
          ? 'never'
          : html`${formatTime(lastUsedAt)} (${formatRelative(lastUsedAt)}); today
            ${formatNumber(key.servedToday)} served, ${formatNumber(key.refusedToday)} refused`,
      ],
      strikes: strikes > 0 && [
        'Strikes',
        `${formatNumber(strikes)}${strikesToBan === null ? '' : ` of ${formatNumber(strikesToBan)} that lead to a ban`}`,
      ],
      replaces: replaces !== null && ['Replaces', keyLink(other(replaces))],
      replacedBy: replacedBy !== null && ['Replaced by', keyLink(other(replacedBy))],
    } satisfies Record<Exclude<keyof OwnFields, 'name' | 'revokedAt'>, Fact> & Record<string, Fact>;
    return factList(Object.values(facts));
  }
}

/** @param id of another record, whose name is not known */
const other = (id: string) => ({ id, name: '' });

customElements.define('page-key', PageKey);
