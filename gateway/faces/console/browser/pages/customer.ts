import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { menu } from '../../../browser/elements/menu.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { formatTime, plural, relativeOr } from '../../../browser/format.ts';
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
  override readonly noun = 'Customer';

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

  resetDay(customer: CustomerDetail) {
    const done = `Today's usage of ${keyTitle(customer)} counts from 0 again`;
    return this.make(() => api.delete(`${this.path}/day`), done);
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

  head(customer: CustomerDetail) {
    return html`<span>${stateTag(customer.state)} ${planLink(customer.plan)}</span>
      ${session.isOperator ? this.renderActions(customer) : nothing}`;
  }

  view(customer: CustomerDetail) {
    const { id, contact, reference, notes, createdAt, items } = customer;
    return html`${viewerNote()}
      <p>The next request is ${describeNext(customer.next)}.</p>
      <div class="section-head">
        <h2>Use now</h2>
        ${change('Change limits…', 'Change limits…', () => askForLimits(this, customer))}
      </div>
      ${limitMeters(customer)}
      <customer-days item=${id}></customer-days>
      <h2>Keys</h2>
      ${
        items.length === 0
          ? html`<p class="quiet">It has none.</p>`
          : listTable('Keys', items, [
              ['Name', keyLink],
              ['State', (key) => stateTag(key.state)],
              ['Key', hintOf],
              ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never'), 'labelled'],
              ['Scopes', ({ scopes }) => scopesOf(scopes), 'labelled'],
              ['Created', (key) => relativeOr(key.createdAt, '–'), 'labelled'],
              ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never'), 'labelled'],
            ])
      }
      <div class="section-head">
        <h2>About</h2>
        ${change('Change…', 'Change details…', () => askForCustomerFacts(this, customer))}
      </div>
      ${factList([
        ['Id', html`<code>${id}</code>`],
        ['Contact', contact ?? '–'],
        ['Reference', reference ?? '–'],
        ['Notes', notes ?? '–'],
        ['Created', createdAt === '' ? '–' : formatTime(createdAt)],
      ])}
      <key-history item=${id}></key-history>`;
  }

  renderActions(customer: CustomerDetail) {
    const { state, windows, items } = customer;
    const resume = () => this.make(() => api.post(`${this.path}/resume`), 'The customer is active again');
    const hasNoKeys = items.every((key) => key.state === 'revoked' || key.state === 'expired');
    return html`<div class="actions">
      <button type="button" class="primary" @click=${() => askToAddKey(this, customer, () => this.reload())}>
        Add key…
      </button>
      ${menu(
        'customer-menu',
        'More',
        html`${button('Make a link to the portal', () => this.makeLink(customer), false, this.busy)}
        ${button("Reset today's usage", () => this.resetDay(customer), false, (windows.day?.used ?? 0) === 0)}
        ${state === 'suspended' ? button('Resume', resume) : button('Suspend…', () => this.askToSuspend(customer), true)}
        ${hasNoKeys ? button('Remove…', () => this.askToRemove(customer), true) : nothing}`,
      )}
    </div>`;
  }
}

customElements.define('page-customer', PageCustomer);

/** Opens a dialog, for operators. */
const change = (text: string, label: string, act: () => unknown) =>
  session.isOperator
    ? html`<button type="button" class="plain" aria-label=${label} @click=${act}>${text}</button>`
    : nothing;

/** An item of the menu. */
const button = (text: string, act: () => unknown, isDanger = false, isDisabled = false) =>
  html`<button type="button" class=${isDanger ? 'danger' : nothing} ?disabled=${isDisabled} @click=${act}>
    ${text}
  </button>`;
