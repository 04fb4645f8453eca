import '../elements/block-dialog.ts';
import '../elements/confirm-dialog.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { blockTable, busyAddressTable } from '../elements/address-tables.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { LightElement } from '../elements/light-element.ts';
import { notify } from '../elements/notice.ts';
import { emptyState, inlineFailure } from '../elements/page-state.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { Refresher } from '../refresher.ts';
import type { BlockView, BusyAddress, Changed, Page } from '../responses.ts';
import { session } from '../session.ts';

type Blocks = Pick<Page<BlockView>, 'items'> & { issues: string[] };

/** Addresses whose requests are refused most, and blocks of addresses. */
class PageAddresses extends LightElement {
  static override properties = {
    busiest: { state: true },
    blocks: { state: true },
    asked: { state: true },
    chosen: { state: true },
  };

  busiest: BusyAddress[] = [];
  blocks: Blocks | undefined;
  /** The address that is to be blocked. */
  asked = '';
  /** The block that is to be ended. */
  chosen: BlockView | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => 3000,
  );

  async load() {
    const [busiest, blocks] = await Promise.all([
      api.get<Page<BusyAddress>>('/api/addresses/busiest'),
      api.get<Blocks>('/api/addresses/blocked'),
    ]);
    this.busiest = busiest.items;
    this.blocks = blocks;
  }

  async askToBlock(address: string) {
    this.asked = address;
    await this.updateComplete;
    showDialog(this, 'block-dialog');
  }

  async askToUnblock(block: BlockView) {
    this.chosen = block;
    await this.updateComplete;
    showDialog(this, 'confirm-dialog');
  }

  async unblock({ network }: BlockView) {
    const { warnings } = await api.post<Changed>('/api/addresses/unblock', { network });
    notify(`${network} is no longer blocked. Its requests are served again within a second.`, warnings);
    await this.refresher.now();
  }

  override render() {
    const { chosen, blocks } = this;
    return html`<h1>Addresses</h1>
      ${viewerNote()} ${blocks === undefined ? this.refresher.placeholder() : this.content(blocks)}
      <block-dialog .network=${this.asked} @changed=${() => void this.refresher.now()}></block-dialog>
      <confirm-dialog
        heading=${`Unblock ${chosen?.network ?? ''}?`}
        action="Unblock"
        .message=${html`<p>Blocked for: ${chosen?.reason}. Its requests are served again within a second.</p>`}
        .run=${() => (chosen === undefined ? Promise.resolve() : this.unblock(chosen))}
      ></confirm-dialog>`;
  }

  content({ items, issues }: Blocks) {
    const { isOperator } = session;
    const block = isOperator ? (address: string) => void this.askToBlock(address) : undefined;
    const unblock = isOperator ? (chosen: BlockView) => void this.askToUnblock(chosen) : undefined;
    return html`${inlineFailure(this.refresher.failure)}
      <h2>Refused most</h2>
      ${
        this.busiest.length === 0
          ? emptyState(
              'No address was refused in the last minute',
              'Addresses are refused for requests without a valid key, and while they are blocked.',
            )
          : busyAddressTable(this.busiest, block)
      }
      <h2>Blocked</h2>
      ${issues.map((issue) => html`<p class="failure-text">${issue}; gateways keep the last valid block.</p>`)}
      ${items.length === 0 ? html`<p class="quiet">No address is blocked.</p>` : blockTable(items, unblock)}
      ${
        block === undefined
          ? nothing
          : html`<div class="actions">
              <button type="button" @click=${() => block('')}>Block an address…</button>
            </div>`
      }`;
  }
}

customElements.define('page-addresses', PageAddresses);
