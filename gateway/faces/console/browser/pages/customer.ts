import { html, nothing } from 'lit';
import type { OwnFields } from '../../../../keys/records.ts';
import { customerFields, keyFields } from '../../../../limits/record-fields.ts';
import type { WindowName } from '../../../../limits/windows.ts';
import { failedRequests, usageDays, windowMeters } from '../../../browser/elements/customer-use.ts';
import { hintOf, keyColumns } from '../../../browser/elements/key-columns.ts';
import { actionButtons, menu } from '../../../browser/elements/menu.ts';
import { stateTag } from '../../../browser/elements/state-tag.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { formatNumber, formatRelative, formatTime } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList, recordFacts, type Fact } from '../elements/fact-list.ts';
import { askForLimits } from '../elements/limit-dialogs.ts';
import { offer, offers, offersColumn } from '../elements/operation-dialog.ts';
import { head } from '../elements/page-head.ts';
import { apiPath, keyLink, keyTitle, planLink } from '../key.ts';
import type { CustomerDetail, DayUsage, Failure, KeyDetail, KeyRow, Page } from '../responses.ts';

/** With its use by day, and its last failed requests. */
type Shown = CustomerDetail & { days: DayUsage[]; failures: Failure[] };

/** One customer: what it uses, its keys, and everything that can be done about it. */
export class PageCustomer extends DetailPage<Shown> {
  override readonly noun = 'customer';

  async read() {
    const path = apiPath(this.item);
    const [detail, { items: days }, { items: failures }] = await Promise.all([
      api.get<CustomerDetail>(path),
      api.get<Page<DayUsage>>(`${path}/usage?days=30`),
      api.get<Page<Failure>>(`${path}/failures`),
    ]);
    return { ...detail, days, failures };
  }

  override state(customer: Shown) {
    return html`${stateTag(customer.state)} ${planLink(customer.plan)}`;
  }

  actions(customer: Shown) {
    const [usual = false, ...others] = offers(this, 'customer', customer);
    return html`${actionButtons([usual])}
    ${menu('customer-menu', html`More <span aria-hidden="true">▾</span>`, others)}`;
  }

  view(customer: Shown) {
    const { id, createdAt, items, days, failures } = customer;
    return html`${head(html`<h2>Use now</h2>`, { text: 'Change limits…', act: () => askForLimits(this, customer) })}
      ${windowMeters(customer, (name) => limitSource(customer, name))}
      <h2>Keys</h2>
      ${listTable(
        'Keys',
        items,
        [['Name', keyLink, '', keyTitle], ...keyColumns, offersColumn<KeyRow>(this, 'key')],
        { none: 'It has none.' },
      )}
      ${usageDays(days)} ${failedRequests(failures, ({ keyId }) => keyLink({ id: keyId, name: keyId }))}
      ${head(html`<h2>About</h2>`, offer(this, 'changeCustomer', customer))}
      ${factList([
        ['Id', html`<code>${id}</code>`],
        ...Object.values(recordFacts(customerFields, customer)),
        ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ])}`;
  }
}

/** What the plan has in place of a limit of the customer's own. */
function limitSource({ limits }: CustomerDetail, name: WindowName) {
  const { from, plan } = limits[name] ?? { from: 'plan' };
  if (from === 'plan') return nothing;
  return html`<p class="quiet">Own limit. Its plan has ${plan ? formatNumber(plan) : 'none'}.</p>`;
}

/** One API key: its state, what it uses, and everything that can be done about it. */
export class PageKey extends DetailPage<KeyDetail> {
  override readonly noun = 'key';
  /** Its customer, for its name. Read once. */
  customer: { id: string; name: string } | undefined;

  async read() {
    const key = await api.get<KeyDetail>(apiPath(this.item));
    this.customer ??= await api.get<CustomerDetail>(apiPath(key.customerId));
    return key;
  }

  override state(key: KeyDetail) {
    return html`${hintOf(key)} ${stateTag(key.state)} ${planLink(key.plan)}`;
  }

  actions(key: KeyDetail) {
    return actionButtons(offers(this, 'key', key));
  }

  view(key: KeyDetail) {
    const customer = this.customer ?? other(key.customerId);
    const { id, createdAt, revokedAt, replaces, replacedBy, strikes, strikesToBan, ban, lastUsedAt } = key;
    const facts = {
      id: ['Id', html`<code>${id}</code>`],
      customerId: ['Customer', html`${keyLink(customer)}, which has the plan and the limits`],
      hint: false,
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
      ban: ban !== null && ['Ban', html`${ban.reason}; ends ${formatTime(ban.endsAt)}`],
      revokedAt: revokedAt !== null && ['Revoked', formatTime(revokedAt)],
      replaces: replaces !== null && ['Replaces', keyLink(other(replaces))],
      replacedBy: replacedBy !== null && ['Replaced by', keyLink(other(replacedBy))],
    } satisfies Record<Exclude<keyof OwnFields, 'name'>, Fact> & Record<string, Fact>;
    return html`${factList(Object.values(facts))}
      <h2>Use of its customer now</h2>
      ${windowMeters(key)}`;
  }
}

/** @param id of another record, whose name is not known */
const other = (id: string) => ({ id, name: '' });
