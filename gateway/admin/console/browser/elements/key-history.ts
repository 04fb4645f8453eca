import { html, nothing } from 'lit';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { listTable } from '../../../../browser/elements/table.ts';
import { usageDays } from '../../../../browser/elements/usage-days.ts';
import { formatTime } from '../../../../browser/format.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { apiPath, keyLink } from '../key.ts';
import type { AuditEntry, DayUsage, Failure, Page } from '../responses.ts';
import { entryTable } from './entry-table.ts';

const auditEntries = 10;

interface History {
  days: DayUsage[];
  /** Of a customer only. */
  failures: Failure[] | undefined;
  entries: AuditEntry[];
}

/** What a key or customer has done: 30 days, the last failed requests, and the changes that operators have made. */
class KeyHistory extends PolledElement<History> {
  static override properties = { item: {} };

  /** Id of the key, whose customer's days these are, or of the customer. */
  item = '';

  async read() {
    const path = apiPath(this.item);
    const [{ items: days }, failures, { items: entries }] = await Promise.all([
      api.get<Page<DayUsage>>(`${path}/usage?days=30`),
      this.isCustomer ? api.get<Page<Failure>>(`${path}/failures`) : undefined,
      api.get<Page<AuditEntry>>(url`/api/audit?target=${this.item}&limit=${auditEntries}`),
    ]);
    return { days, failures: failures?.items, entries };
  }

  private get isCustomer() {
    return this.item.startsWith('cus_');
  }

  view({ days, failures, entries }: History) {
    return html`${usageDays(days)} ${failures === undefined ? nothing : renderFailures(failures)}
      <h2>Changes</h2>
      ${
        entries.length === 0
          ? html`<p class="quiet">None that the audit log still has.</p>`
          : entryTable('Changes', entries, !this.isCustomer)
      }
      <p>
        <a href=${url`/console/audit?target=${this.item}`}
          >All changes of this ${this.isCustomer ? 'customer' : 'key'}</a
        >
      </p>`;
  }
}

function renderFailures(failures: Failure[]) {
  return html`<h2>Last failed requests</h2>
    ${
      failures.length === 0
        ? html`<p class="quiet">None in the last seven days.</p>`
        : listTable(
            'Last failed requests',
            failures,
            [
              ['Time', ({ at }) => formatTime(at)],
              ['Request', ({ method, route }) => `${method} ${route}`],
              ['Error', ({ status, code }) => `${status} ${code ?? ''}`],
              ['Key', ({ keyId }) => keyLink({ id: keyId, name: keyId })],
              ['Request id', ({ requestId }) => html`<code>${requestId}</code>`],
            ],
            { headed: false },
          )
    }`;
}

customElements.define('key-history', KeyHistory);
