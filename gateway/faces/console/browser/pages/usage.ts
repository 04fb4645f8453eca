import { html, nothing } from 'lit';
import { servedAndRefused } from '../../../browser/elements/customer-use.ts';
import { count, listTable, type Column } from '../../../browser/elements/table.ts';
import { formatMonth } from '../../../browser/format.ts';
import { url } from '../api.ts';
import { ListPage } from '../elements/list-page.ts';
import { keyLink, planLink } from '../key.ts';
import type { MonthUsage } from '../responses.ts';
import { router } from '../router.ts';

/** Month's end: the use of all customers by month, the plans and the largest customers of a month, and its export. */
export class PageUsage extends ListPage<MonthUsage> {
  override readonly list = '/api/usage/months';
  override readonly none = 'No use is recorded yet. Each request of a key counts, from the first one on.';

  override get pauseMs() {
    return 60_000;
  }

  override table(items: MonthUsage[]) {
    return items.some(({ customers }) => customers > 0) ? months(items) : html`<p>${this.none}</p>`;
  }
}

function months(items: MonthUsage[]) {
  const asked = router.location.query.get('month');
  const chosen = items.find(({ month }) => month === asked) ?? items.at(-1);
  return html`<h2>Months</h2>
    <time-chart
      heading="Requests by month (UTC), all customers"
      unit="utc-month"
      .times=${items.map(({ month }) => Date.parse(month) / 1000)}
      .series=${servedAndRefused(items)}
    ></time-chart>
    ${listTable('Months', items.filter((use) => use.customers > 0 || use === chosen).toReversed(), [
      [
        'Month',
        (use) =>
          html`<a
            href=${url`/console/usage?month=${use.month}`}
            aria-current=${use === chosen ? 'true' : nothing}
            >${formatMonth(use.month)}</a
          >`,
        '',
        ({ month }) => month,
      ],
      count('Customers', ({ customers }) => customers, 'number minor'),
      ...counts(items),
      [
        'Use of each customer by day',
        ({ month }) =>
          html`<a
            download
            href=${url`/api/usage/export?from=${month}-01&to=${lastDayOf(month)}`}
            aria-label=${`Download CSV of ${formatMonth(month)}`}
            >Download CSV</a
          >`,
        'action',
      ],
    ])}
    ${chosen === undefined ? nothing : tablesOf(chosen)}`;
}

const lastDayOf = (month: string) => {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number, 0)).toISOString().slice(0, 10);
};

type Counted = Pick<MonthUsage, 'served' | 'refused'> & { units?: number | undefined };

/** Columns of what months, or customers in one, have used. */
const counts = (items: readonly Counted[]): (Column<Counted> | false)[] => [
  count('Served', ({ served }) => served),
  count('Refused', ({ refused }) => refused),
  items.some(({ units }) => units !== undefined) && count('Units', ({ units, served }) => units ?? served),
];

const tablesOf = ({ month, plans, largest }: MonthUsage) =>
  html`<h2>Plans in ${formatMonth(month)}</h2>
    ${listTable('Plans', plans, [planColumn, ...counts(plans)], { none: 'No plan was used in this month.' })}
    <h2>Largest customers in ${formatMonth(month)}</h2>
    ${listTable('Largest customers', largest, [customerColumn, planColumn, ...counts(largest)], {
      none: 'No customer was served in this month.',
    })}`;

const planColumn: Column<{ plan: string | null }> = [
  'Plan',
  ({ plan }) => planLink(plan ?? ''),
  '',
  ({ plan }) => plan,
];

const customerColumn: Column<{ id: string; name: string }> = [
  'Customer',
  (customer) => (customer.id === '' ? customer.name || 'unknown' : keyLink(customer)),
  '',
  ({ name }) => name,
];
