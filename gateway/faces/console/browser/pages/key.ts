import { html } from 'lit';
import type { OwnFields } from '../../../../keys/api-key-record.ts';
import { keyFields } from '../../../../limits/record-fields.ts';
import { hintOf } from '../../../browser/elements/key-columns.ts';
import { actionButtons } from '../../../browser/elements/menu.ts';
import { formatNumber, formatRelative, formatTime } from '../../../browser/format.ts';
import { api } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList, recordFacts, type Fact } from '../elements/fact-list.ts';
import { keyActions } from '../elements/key-dialogs.ts';
import { apiPath, keyLink } from '../key.ts';
import type { CustomerDetail, KeyDetail } from '../responses.ts';

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
    return renderFacts(key, this.customer ?? other(key.customerId));
  }
}

/** @param id of another record, whose name is not known */
const other = (id: string) => ({ id, name: '' });

function renderFacts(key: KeyDetail, customer: { id: string; name: string }) {
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
  } satisfies Record<Exclude<keyof OwnFields, 'name' | 'plan' | 'revokedAt' | 'batch'>, Fact> &
    Record<string, Fact>;
  return factList(Object.values(facts));
}

customElements.define('page-key', PageKey);
