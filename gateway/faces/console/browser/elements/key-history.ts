import { html, nothing } from 'lit';
import { failureTable } from '../../../browser/elements/failure-table.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { usageDays } from '../../../browser/elements/usage-days.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyLink } from '../key.ts';
import type { AuditEntry, DayUsage, Failure, Page } from '../responses.ts';
import { entryTable } from './entry-table.ts';

const auditEntries = 10;

interface History {
  /** Of a customer only. */
  failures: Failure[] | undefined;
  entries: AuditEntry[];
}

/** The last failed requests of a customer, and the changes that operators have made to it, a key or a plan. */
class KeyHistory extends PolledElement<History> {
  static override properties = { item: {} };

  /** Id of the key or the customer, or name of the plan. */
  item = '';

  async read() {
    const [failures, { items: entries }] = await Promise.all([
      this.item.startsWith('cus_') ? api.get<Page<Failure>>(`${apiPath(this.item)}/failures`) : undefined,
      api.get<Page<AuditEntry>>(url`/api/audit?target=${this.item}&limit=${auditEntries}`),
    ]);
    return { failures: failures?.items, entries };
  }

  view({ failures, entries }: History) {
    return html`${
        failures === undefined
          ? nothing
          : html`<h2>Last failed requests</h2>
              ${failureTable(failures, ({ keyId }) => keyLink({ id: keyId, name: keyId }))}`
      }
      <h2>Changes</h2>
      ${
        entries.length === 0
          ? html`<p class="quiet">None that the audit log still has.</p>`
          : entryTable('Changes', entries, { isOpen: true })
      }
      <p>
        <a href=${url`/console/audit?target=${this.item}`}>All entries in the audit log</a>
      </p>`;
  }
}

/** What a customer has used in 30 days. */
class CustomerDays extends PolledElement<DayUsage[]> {
  static override properties = { item: {} };

  item = '';

  async read() {
    return (await api.get<Page<DayUsage>>(`${apiPath(this.item)}/usage?days=30`)).items;
  }

  view(days: DayUsage[]) {
    return usageDays(days);
  }
}

customElements.define('customer-days', CustomerDays);

customElements.define('key-history', KeyHistory);
