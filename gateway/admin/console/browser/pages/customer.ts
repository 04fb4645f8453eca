import '../elements/facts-form.ts';
import '../elements/key-limits-form.ts';
import '../elements/portal-link.ts';
import { html, nothing } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { openDialog } from '../../../../browser/elements/dialog-element.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { listTable } from '../../../../browser/elements/table.ts';
import { formatTime, plural, relativeOr } from '../../../../browser/format.ts';
import { api } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { factList } from '../elements/fact-list.ts';
import { FurtherKeyDialog } from '../elements/further-key-dialog.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { describeNext, hintOf, keyLink, keyTitle, planLink, scopesOf, stateTag } from '../key.ts';
import type { CustomerDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

/** One customer: what it uses, its keys, and everything that can be done about it. */
class PageCustomer extends DetailPage<CustomerDetail> {
  override readonly titles = ['Customer', 'Customers'] as const;

  addKey(of: CustomerDetail) {
    openDialog(this, FurtherKeyDialog, {
      heading: `Add a key for ${keyTitle(of)}`,
      of,
      done: () => this.reload(),
    });
  }

  askToSuspend(customer: CustomerDetail) {
    ask(this, {
      heading: `Suspend ${keyTitle(customer)}?`,
      action: 'Suspend the customer',
      danger: true,
      message: () =>
        html`<p>
          Requests of ${plural(customer.keys, 'key')} get 401 from the next one on, until you resume it.
        </p>`,
      run: () =>
        this.apply(
          api.post(`${this.path}/suspend`),
          'The customer is suspended: requests of all its keys are refused from now on',
        ),
    });
  }

  askToRemove(customer: CustomerDetail) {
    ask(this, {
      heading: `Remove ${keyTitle(customer)}?`,
      action: 'Remove the customer',
      danger: true,
      typed: keyTitle(customer),
      message: () =>
        html`<p>
          Its record and those of its keys are deleted. What it has used stays in the record of use.
        </p>`,
      run: async () => {
        await api.delete(this.path);
        router.navigate('/console/customers');
      },
    });
  }

  view(customer: CustomerDetail) {
    const { id, state, plan, contact, reference, notes, createdAt, items } = customer;
    return html`${viewerNote()}
      <p>${stateTag(state)} The next request is ${describeNext(customer.next)}.</p>
      ${inlineFailure(this.failure)}
      ${factList([
        ['Id', html`<code>${id}</code>`],
        ['Plan', planLink(plan)],
        ['Contact', contact ?? '–'],
        ['Reference', reference ?? '–'],
        ['Notes', notes ?? '–'],
        ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ])}
      <h2>Use now</h2>
      ${limitMeters(customer)}
      <h2>Keys</h2>
      ${
        items.length === 0
          ? html`<p class="quiet">It has none.</p>`
          : listTable('Keys', items, [
              ['Name', keyLink],
              ['State', (key) => stateTag(key.state)],
              ['Key', hintOf],
              ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never')],
              ['Scopes', ({ scopes }) => scopesOf(scopes)],
              ['Created', (key) => relativeOr(key.createdAt, '–')],
              ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never')],
            ])
      }
      ${
        session.isOperator
          ? html`${this.renderActions(customer)}<portal-link item=${id}></portal-link>`
          : nothing
      }
      ${
        session.isOperator
          ? html`<h2>Plan and limits</h2>
              <limits-form .subject=${customer} .plans=${this.plans} @changed=${this.onChanged}></limits-form>
              <h2>About the customer</h2>
              <customer-facts-form .subject=${customer} @changed=${this.onChanged}></customer-facts-form>`
          : nothing
      }
      <key-history item=${id}></key-history>`;
  }

  renderActions(customer: CustomerDetail) {
    const { state, windows, items } = customer;
    return html`<div class="actions">
      <button type="button" class="wa-brand" @click=${() => this.addKey(customer)}>Add a key…</button>
      ${this.renderResetDay(windows.day)}
      ${
        state === 'suspended'
          ? html`<button
              type="button"
              @click=${() => this.make(() => api.post(`${this.path}/resume`), 'The customer is active again')}
            >
              Resume
            </button>`
          : html`<button type="button" class="wa-danger" @click=${() => this.askToSuspend(customer)}>
              Suspend…
            </button>`
      }
      ${
        items.every((key) => key.state === 'revoked' || key.state === 'expired')
          ? html`<button type="button" class="wa-danger" @click=${() => this.askToRemove(customer)}>
              Remove…
            </button>`
          : nothing
      }
    </div>`;
  }
}

customElements.define('page-customer', PageCustomer);
