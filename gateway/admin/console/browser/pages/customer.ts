import '../elements/confirm-dialog.ts';
import '../elements/customer-facts-form.ts';
import '../elements/further-key-dialog.ts';
import '../elements/key-history.ts';
import '../elements/key-limits-form.ts';
import '../elements/key-trial.ts';
import '../elements/portal-link.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { DetailPage, factList } from '../elements/detail-page.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { inlineFailure } from '../elements/page-state.ts';
import { table } from '../elements/table.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatRelative, formatTime, plural } from '../format.ts';
import { describeNext, keyPath, keyTitle, stateTag } from '../key.ts';
import type { CustomerDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

/** One customer: what it uses, its keys, and everything that can be done about it. */
class PageCustomer extends DetailPage<CustomerDetail> {
  suspend() {
    return this.apply(
      () => api.post(`${this.path}/suspend`),
      'The customer is suspended: requests of all its keys are refused from now on',
    );
  }

  override render() {
    const customer = this.detail;
    if (customer === undefined) {
      if (this.refresher.failure === undefined) return this.refresher.placeholder();
      return html`<h1>Customer</h1>
        ${this.refresher.placeholder()}
        <p><a href="/console/customers">All customers</a></p>`;
    }
    return html`
      <p><a href="/console/customers">Customers</a></p>
      <h1>${keyTitle(customer)}</h1>
      ${this.renderStale()} ${viewerNote()}
      <p>${stateTag(customer.state)} The next request is ${describeNext(customer.next)}.</p>
      ${inlineFailure(this.failure)} ${renderFacts(customer)}
      <h2>Use now</h2>
      ${limitMeters(customer)}
      <h2>Keys</h2>
      ${renderKeys(customer)} ${this.renderActions(customer)}
      ${session.isOperator ? html`<portal-link item=${customer.id}></portal-link>` : nothing}
      <key-trial .key=${customer} @changed=${this.onChanged}></key-trial>
      ${
        session.isOperator
          ? html`<h2>Plan and limits</h2>
              ${this.renderTemporary(customer)}
              <limits-form .subject=${customer} .plans=${this.plans} @changed=${this.onChanged}></limits-form>
              <h2>About the customer</h2>
              <customer-facts-form .customer=${customer} @changed=${this.onChanged}></customer-facts-form>`
          : nothing
      }
      <key-history item=${customer.id}></key-history>
      ${session.isOperator ? this.renderDialogs(customer) : nothing}
    `;
  }

  renderActions({ state, windows, items }: CustomerDetail) {
    if (!session.isOperator) return nothing;
    return html`<div class="actions">
      <button type="button" class="wa-brand" @click=${() => showDialog(this, 'further-key-dialog')}>
        Add a key…
      </button>
      ${this.renderResetDay(windows.day)}
      ${
        state === 'suspended'
          ? html`<button
              type="button"
              @click=${() => this.make(() => api.post(`${this.path}/resume`), 'The customer is active again')}
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
          await api.delete(this.path);
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
    ['Webhooks', html`<a href=${url`/console/webhooks/${id}`}>Webhooks and what was sent</a>`],
    ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
  ];
  return factList(facts);
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
