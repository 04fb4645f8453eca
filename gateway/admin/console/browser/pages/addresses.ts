import { html, nothing } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import { field, lengthField } from '../../../../browser/elements/fields.ts';
import { emptyState } from '../../../../browser/elements/page-state.ts';
import { PolledElement } from '../../../../browser/elements/polled-element.ts';
import { button, count, listTable } from '../../../../browser/elements/table.ts';
import { relativeOr } from '../../../../browser/format.ts';
import { api } from '../api.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import type { BlockView, BusyAddress, Changed, Page } from '../responses.ts';
import { session } from '../session.ts';

interface Addresses {
  busiest: BusyAddress[];
  blocked: BlockView[];
  issues: string[];
}

/** Addresses whose requests are refused most, and blocks of addresses. */
class PageAddresses extends PolledElement<Addresses> {
  override get pauseMs() {
    return 3000;
  }

  async read() {
    const [{ items: busiest }, { items: blocked, issues }] = await Promise.all([
      api.get<Page<BusyAddress>>('/api/addresses/busiest'),
      api.get<Page<BlockView> & { issues: string[] }>('/api/addresses/blocked'),
    ]);
    return { busiest, blocked, issues };
  }

  block(network: string) {
    ask(this, {
      heading: 'Block an address or network',
      action: 'Block',
      danger: true,
      asksReason: false,
      message: () =>
        html`<p>
            Within a second, all its requests get 429 until the block ends, also those with a valid key: look
            for customers in it first.
          </p>
          ${field('Address or network', 'network', {
            required: true,
            autofocus: true,
            placeholder: '203.0.113.0/24',
            value: network,
          })}
          ${lengthField()} ${field('Reason, for operators', 'reason', { required: true })}`,
      run: (form) => {
        const body = { network: form('network'), seconds: Number(form('seconds')), reason: form('reason') };
        return this.saved(
          api.post<Changed<BlockView>>('/api/addresses/block', body),
          (block) => `${block.network} is blocked`,
        );
      },
    });
  }

  unblock({ network, reason }: BlockView) {
    ask(this, {
      heading: `Unblock ${network}?`,
      action: 'Unblock',
      message: () => html`<p>Blocked for: ${reason}. Its requests are served again within a second.</p>`,
      run: () =>
        this.saved(
          api.post<Changed>('/api/addresses/unblock', { network }),
          `${network} is no longer blocked. Its requests are served again within a second.`,
        ),
    });
  }

  override render() {
    return html`<h1>Addresses</h1>
      ${viewerNote()} ${super.render()}`;
  }

  view({ busiest, blocked, issues }: Addresses) {
    const { isOperator } = session;
    return html`<h2>Refused most</h2>
      ${
        busiest.length === 0
          ? emptyState(
              'No address was refused in the last minute',
              'Addresses are refused for requests without a valid key, and while they are blocked.',
            )
          : listTable('Most refused addresses', busiest, [
              ['Address', ({ address }) => address],
              count('Refused in the last minute', ({ refused }) => refused),
              count('Without a valid key', ({ unauthenticated }) => unauthenticated),
              count('Over the limit', ({ limited }) => limited),
              count('Blocked', ({ blocked }) => blocked),
              [
                'Blocked until',
                ({ blockedUntil }) => relativeOr(blockedUntil, html`<span class="quiet">not blocked</span>`),
              ],
              isOperator &&
                button(
                  'Block…',
                  ({ address }) => `Block ${address}`,
                  ({ address }) => this.block(address),
                ),
            ])
      }
      <h2>Blocked</h2>
      ${issues.map((issue) => html`<p class="failure-text">${issue}; gateways keep the last valid block.</p>`)}
      ${
        blocked.length === 0
          ? html`<p class="quiet">No address is blocked.</p>`
          : listTable('Blocked addresses', blocked, [
              ['Address or network', ({ network }) => network],
              ['Ends', ({ endsAt }) => relativeOr(endsAt, '')],
              ['Reason', ({ reason }) => reason],
              isOperator &&
                button(
                  'Unblock',
                  ({ network }) => `Unblock ${network}`,
                  (block) => this.unblock(block),
                ),
            ])
      }
      ${
        isOperator
          ? html`<div class="actions">
              <button type="button" @click=${() => this.block('')}>Block an address…</button>
            </div>`
          : nothing
      }`;
  }
}

customElements.define('page-addresses', PageAddresses);
