import { html, nothing } from 'lit';
import { ask } from '../../../../browser/elements/ask-dialog.ts';
import { listTable } from '../../../../browser/elements/table.ts';
import { formatTime, plural, relativeOr } from '../../../../browser/format.ts';
import { api } from '../api.ts';
import { DetailPage } from '../elements/detail-page.ts';
import { askForCustomerFacts, askForLimits } from '../elements/edit-dialogs.ts';
import { factList } from '../elements/fact-list.ts';
import { limitMeters } from '../elements/limit-meter.ts';
import { askToAddKey } from '../elements/new-key-dialogs.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { apiPath, describeNext, hintOf, keyLink, keyTitle, planLink, scopesOf, stateTag } from '../key.ts';
import type { Changed, CustomerDetail, PortalLink } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';

/** One customer: what it uses, its keys, and everything that can be done about it. */
class PageCustomer extends DetailPage<CustomerDetail> {
  override readonly titles = ['Customer', 'Customers'] as const;

  /** Makes a link to the portal, and shows it. */
  makeLink({ id }: CustomerDetail) {
    return this.act(async () => {
      const made = await api.post<PortalLink>(`${apiPath(id)}/link`);
      ask(this, {
        heading: 'Link to the portal',
        secret: {
          noun: 'link',
          label: 'Link to the portal',
          text: made.link,
          about: html`For the customer. It works once, until
          ${formatTime(made.expiresAt, { dateStyle: 'time' })}, and begins a session of an hour. It is not
          shown again.`,
          warnings: made.warnings,
        },
      });
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
        this.saved(
          api.post<Changed>(`${this.path}/suspend`),
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
      ${factList([
        ['Id', html`<code>${id}</code>`],
        ['Plan', planLink(plan)],
        ['Contact', contact ?? '–'],
        ['Reference', reference ?? '–'],
        ['Notes', notes ?? '–'],
        ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ])}
      ${session.isOperator ? this.renderActions(customer) : nothing}
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
      <key-history item=${id}></key-history>`;
  }

  renderActions(customer: CustomerDetail) {
    const { state, windows, items } = customer;
    return html`<div class="actions">
      <button type="button" class="primary" @click=${() => askToAddKey(this, customer, () => this.reload())}>
        Add a key…
      </button>
      <button type="button" @click=${() => askForLimits(this, customer)}>Change limits…</button>
      <button type="button" @click=${() => askForCustomerFacts(this, customer)}>Change details…</button>
      <button type="button" ?disabled=${this.busy} @click=${() => this.makeLink(customer)}>
        Make a link to the portal
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
          : html`<button type="button" class="danger" @click=${() => this.askToSuspend(customer)}>
              Suspend…
            </button>`
      }
      ${
        items.every((key) => key.state === 'revoked' || key.state === 'expired')
          ? html`<button type="button" class="danger" @click=${() => this.askToRemove(customer)}>
              Remove…
            </button>`
          : nothing
      }
    </div>`;
  }
}

customElements.define('page-customer', PageCustomer);
