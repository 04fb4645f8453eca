import '../elements/confirm-dialog.ts';
import '../elements/customer-facts-form.ts';
import '../elements/further-key-dialog.ts';
import '../elements/key-history.ts';
import '../elements/key-limits-form.ts';
import '../elements/key-trial.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { ActingElement } from '../elements/acting-element.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { KeyHistory } from '../elements/key-history.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { notify } from '../elements/notice.ts';
import { failureText, inlineFailure } from '../elements/page-state.ts';
import { table } from '../elements/table.ts';
import { formatRelative, formatTime, plural } from '../format.ts';
import { fetchPlanNames } from '../key-search.ts';
import { apiPath, describeNext, keyPath, keyTitle, stateTag } from '../key.ts';
import { limitsText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, CustomerDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

const refreshMs = 2000;
const failedMs = 5000;

/** One customer: what it uses, its keys, and everything that can be done about it. */
class PageCustomer extends ActingElement {
  static override properties = { item: {}, customer: { state: true }, plans: { state: true } };

  /** Id of the customer. */
  item = '';
  customer: CustomerDetail | undefined;
  plans: string[] = [];
  /** Changes made on this page. */
  changes = 0;
  refresher = new Refresher(
    this,
    () => this.read(),
    () => (this.refresher.failure === undefined ? refreshMs : failedMs),
  );

  constructor() {
    super();
    void fetchPlanNames().then((plans) => (this.plans = plans));
  }

  /** Reads the customer. What a change has overtaken is dropped. */
  async read() {
    const { changes } = this;
    const customer = await api.get<CustomerDetail>(apiPath(this.item));
    if (changes !== this.changes) return;
    this.customer = customer;
    document.title = document.title.replace(/^.*? – /, `${keyTitle(customer)} – `);
  }

  changed(customer: CustomerDetail) {
    this.changes += 1;
    this.customer = customer;
    this.failure = undefined;
    const history = this.querySelector('key-history');
    if (history instanceof KeyHistory) void history.load();
  }

  onChanged({ detail }: CustomEvent<CustomerDetail>) {
    this.changed(detail);
  }

  async make(change: () => Promise<Changed<CustomerDetail>>, done: string) {
    await this.act(async () => {
      const customer = await change();
      this.changed(customer);
      notify(done, customer.warnings);
    });
  }

  async suspend() {
    const customer = await api.post<Changed<CustomerDetail>>(`${apiPath(this.item)}/suspend`);
    this.changed(customer);
    notify('The customer is suspended: requests of all its keys are refused from now on', customer.warnings);
  }

  override render() {
    const { customer } = this;
    if (customer === undefined) {
      if (this.refresher.failure === undefined) return this.refresher.placeholder();
      return html`<h1>Customer</h1>
        ${this.refresher.placeholder()}
        <p><a href="/console/customers">All customers</a></p>`;
    }
    const { temporary } = customer;
    return html`
      <p><a href="/console/customers">Customers</a></p>
      <h1>${keyTitle(customer)}</h1>
      ${this.refresher.failure === undefined ? nothing : html`<p class="failure-text" role="alert">Not up to date: ${failureText(this.refresher.failure)}</p>`}
      ${session.isOperator ? nothing : html`<p class="quiet">You have a viewer's link: you can look, and change nothing.</p>`}
      <p>${stateTag(customer.state)} The next request is ${describeNext(customer.next)}.</p>
      ${inlineFailure(this.failure)} ${renderFacts(customer)}
      <h2>Use now</h2>
      ${limitMeters(customer)}
      <h2>Keys</h2>
      ${renderKeys(customer)} ${this.renderActions(customer)}
      <key-trial .key=${customer} @changed=${this.onChanged}></key-trial>
      ${
        session.isOperator
          ? html`<h2>Plan and limits</h2>
              ${temporary === null ? nothing : this.renderTemporary(temporary)}
              <limits-form .subject=${customer} .plans=${this.plans} @changed=${this.onChanged}></limits-form>
              <h2>About the customer</h2>
              <customer-facts-form .customer=${customer} @changed=${this.onChanged}></customer-facts-form>`
          : nothing
      }
      <key-history item=${customer.id}></key-history>
      ${session.isOperator ? this.renderDialogs(customer) : nothing}
    `;
  }

  renderTemporary(temporary: NonNullable<CustomerDetail['temporary']>) {
    const end = () =>
      this.make(
        () => api.patch(apiPath(this.item), { rev: this.customer?.rev, temporary: null }),
        'The temporary limits have ended',
      );
    return html`<p>
      Until ${formatTime(temporary.until)}: ${limitsText(temporary)}.
      <button type="button" @click=${end}>End them now</button>
    </p>`;
  }

  renderActions({ state, windows, items }: CustomerDetail) {
    if (!session.isOperator) return nothing;
    const path = apiPath(this.item);
    return html`<div class="actions">
      <button type="button" class="wa-brand" @click=${() => showDialog(this, 'further-key-dialog')}>
        Add a key…
      </button>
      <button
        type="button"
        ?disabled=${windows.day.used === 0}
        title="Its day limit counts from 0 again; the record of use keeps what was served"
        @click=${() => this.make(() => api.delete(`${path}/day`), 'The day counts from 0 again')}
      >
        Set the day back
      </button>
      ${
        state === 'suspended'
          ? html`<button
              type="button"
              @click=${() => this.make(() => api.post(`${path}/resume`), 'The customer is active again')}
            >
              Resume
            </button>`
          : html`<button type="button" class="wa-danger" @click=${() => showDialog(this, '.suspend')}>
              Suspend…
            </button>`
      }
      ${
        items.every((key) => key.state === 'revoked' || key.state === 'expired')
          ? html`<button type="button" class="wa-danger" @click=${() => showDialog(this, '.remove')}>
              Remove…
            </button>`
          : nothing
      }
    </div>`;
  }

  renderDialogs(customer: CustomerDetail) {
    const title = keyTitle(customer);
    return html`<further-key-dialog
        .of=${customer}
        @issued=${() => void this.refresher.now()}
      ></further-key-dialog>
      <confirm-dialog
        class="suspend"
        heading=${`Suspend ${title}?`}
        action="Suspend the customer"
        danger
        .message=${html`<p>Requests of ${plural(customer.keys, 'key')} get 401 from the next one on, until you resume it.</p>`}
        .run=${() => this.suspend()}
      ></confirm-dialog>
      <confirm-dialog
        class="remove"
        heading=${`Remove ${title}?`}
        action="Remove the customer"
        danger
        .typed=${title}
        .message=${html`<p>Its record and those of its keys are deleted. What it has used stays in the record of use.</p>`}
        .run=${async () => {
          await api.delete(apiPath(customer.id));
          router.navigate('/console/customers');
        }}
      ></confirm-dialog>`;
  }
}

function renderFacts({ id, plan, contact, reference, notes, createdAt }: CustomerDetail) {
  const facts: [string, unknown][] = [
    ['Id', html`<code>${id}</code>`],
    ['Plan', html`<a href=${url`/console/plans/${plan}`}>${plan}</a>`],
    ['Contact', contact ?? '–'],
    ['Reference', reference ?? '–'],
    ['Notes', notes ?? '–'],
    ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
  ];
  return html`<dl class="key-facts">
    ${facts.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}

function renderKeys({ items }: CustomerDetail) {
  if (items.length === 0) return html`<p class="quiet">It has none.</p>`;
  return table({
    label: 'Keys',
    region: 'wide',
    headings: ['Name', 'State', 'Key', 'Last used', 'Scopes', 'Created', 'Expires'],
    rows: items.map(
      (key) =>
        html`<tr>
          <th scope="row"><a href=${keyPath(key.id)}>${keyTitle(key)}</a></th>
          <td>${stateTag(key.state)}</td>
          <td><code>${key.hint === '' ? key.id : key.hint}</code></td>
          <td>${key.lastUsedAt === null ? 'never' : formatRelative(key.lastUsedAt)}</td>
          <td>${key.scopes === null ? 'all' : key.scopes.join(' ')}</td>
          <td>${key.createdAt === '' ? '–' : formatRelative(key.createdAt)}</td>
          <td>${key.expiresAt === null ? 'never' : formatRelative(key.expiresAt)}</td>
        </tr>`,
    ),
  });
}

customElements.define('page-customer', PageCustomer);
