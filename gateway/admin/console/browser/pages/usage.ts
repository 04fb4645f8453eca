import '../elements/time-chart.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { LightElement } from '../elements/light-element.ts';
import { emptyState, inlineFailure } from '../elements/page-state.ts';
import { numeric, table } from '../elements/table.ts';
import { formatMonth, formatNumber, formatTime } from '../format.ts';
import { keyPath } from '../key.ts';
import { Refresher } from '../refresher.ts';
import type { MonthUsage, UsageMonths } from '../responses.ts';
import { router } from '../router.ts';
import { url } from '../url.ts';

/** Month's end: the use of all customers by month, the largest ones of a month, and its export. */
class PageUsage extends LightElement {
  static override properties = { usage: { state: true } };

  usage: UsageMonths | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.usage?.counting ? 1000 : 60_000),
  );

  constructor() {
    super();
    this.whileConnected(() => router.subscribe(() => this.requestUpdate()));
  }

  async load() {
    this.usage = await api.get<UsageMonths>('/api/usage/months');
  }

  override render() {
    return html`<h1>Usage</h1>
      ${
        this.usage === undefined
          ? this.refresher.placeholder()
          : html`${inlineFailure(this.refresher.failure)}${this.content(this.usage)}`
      }`;
  }

  content({ items, asOf, counting }: UsageMonths) {
    const isUsed = items.some(({ customers }) => customers > 0);
    const progress =
      counting === null
        ? nothing
        : html` ${formatNumber(counting.read)} of ${formatNumber(counting.total)} customers read…`;
    return html`<p class="quiet" role="status">
        UTC months, all customers together.
        ${asOf === null ? 'So far:' : html`As of ${formatTime(asOf)}.`}${progress}
      </p>
      ${
        isUsed
          ? this.months(items)
          : counting === null
            ? emptyState('No use is recorded yet', 'Each request of a key counts, from the first one on.')
            : nothing
      }`;
  }

  months(items: MonthUsage[]) {
    const asked = router.location.query.get('month');
    const chosen = items.find(({ month }) => month === asked) ?? items.at(-1);
    const units = items.some((month) => month.units !== undefined);
    return html`<h2>Months</h2>
      <time-chart
        class="panel"
        heading="Requests by month"
        kind="bars"
        unit="utc-month"
        .times=${items.map(({ month }) => Date.parse(month) / 1000)}
        .series=${[
          { label: 'served', tone: 'good', values: items.map(({ served }) => served) },
          { label: 'refused', tone: 'caution', values: items.map(({ refused }) => refused) },
        ]}
      ></time-chart>
      ${table({
        label: 'Months',
        headings: ['Month', numeric('Customers'), ...countHeadings(units), 'Each customer by day'],
        rows: items.toReversed().map((month) => monthRow(month, month === chosen, units)),
      })}
      ${chosen === undefined ? nothing : html`${byService(chosen)}${largest(chosen)}`}`;
  }
}

const countHeadings = (units: boolean) => [
  numeric('Served'),
  numeric('Refused'),
  ...(units ? [numeric('Units')] : []),
];

const countCells = (
  { served, refused, units }: MonthUsage['largest'][number] | MonthUsage,
  withUnits: boolean,
) =>
  html`<td class="number">${formatNumber(served)}</td>
    <td class="number">${formatNumber(refused)}</td>
    ${withUnits ? html`<td class="number">${formatNumber(units ?? served)}</td>` : nothing}`;

function monthRow(use: MonthUsage, isChosen: boolean, units: boolean) {
  const { month, customers } = use;
  const name = formatMonth(month);
  return html`<tr>
    <th scope="row">
      <a href=${url`/console/usage?month=${month}`} aria-current=${isChosen ? 'true' : nothing}>${name}</a>
    </th>
    <td class="number">${formatNumber(customers)}</td>
    ${countCells(use, units)}
    <td>
      <a download href=${url`/api/usage/export?month=${month}`} aria-label=${`Download CSV of ${name}`}
        >Download CSV</a
      >
    </td>
  </tr>`;
}

const servicesOf = ({ services = [] }: Pick<MonthUsage, 'services'>) =>
  services.map(({ service, units }) => `${service}: ${formatNumber(units)}`).join(', ');

function byService({ month, services = [] }: MonthUsage) {
  if (services.length === 0) return nothing;
  return html`<h2>Services in ${formatMonth(month)}</h2>
    ${table({
      label: 'Services',
      headings: ['Service', numeric('Served'), numeric('Units')],
      rows: services.map(
        ({ service, served, units }) =>
          html`<tr>
            <th scope="row">${service}</th>
            <td class="number">${formatNumber(served)}</td>
            <td class="number">${formatNumber(units)}</td>
          </tr>`,
      ),
    })}`;
}

function largest({ month, largest }: MonthUsage) {
  const heading = html`<h2>Largest customers in ${formatMonth(month)}</h2>`;
  if (largest.length === 0)
    return html`${heading}
      <p class="quiet">No customer was served in this month.</p>`;
  const units = largest.some((customer) => customer.units !== undefined);
  const services = largest.some((customer) => customer.services !== undefined);
  return html`${heading}
  ${table({
    label: 'Largest customers',
    headings: ['Customer', 'Plan', ...countHeadings(units), ...(services ? ['Units by service'] : [])],
    rows: largest.map(
      (customer) =>
        html`<tr>
          <th scope="row">
            ${customer.id === '' ? customer.name || 'unknown' : html`<a href=${keyPath(customer.id)}>${customer.name || customer.id}</a>`}
          </th>
          <td>
            ${customer.plan === null ? '–' : html`<a href=${url`/console/plans/${customer.plan}`}>${customer.plan}</a>`}
          </td>
          ${countCells(customer, units)} ${services ? html`<td>${servicesOf(customer)}</td>` : nothing}
        </tr>`,
    ),
  })}`;
}

customElements.define('page-usage', PageUsage);
