import { html, nothing } from 'lit';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { inlineFailure } from '../../../../browser/elements/page-state.ts';
import { formatNumber, formatShare } from '../../../../browser/format.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import type { Ban, Page } from '../responses.ts';
import { banTable } from './ban-table.ts';

interface Progress {
  scanned: number;
  total: number;
}

/** Bans to find at most: nobody reads more of them. */
const maxFound = 1000;

/**
 * Looks for bans that only Redis itself knows of, part by part, with progress; leaving the page ends it. Dispatches `changed`
 * when one was lifted; `lifted` tells it of one that was lifted elsewhere.
 */
class BanScan extends LightElement {
  /** Undefined before the first scan. */
  found: Ban[] | undefined;
  /** Of the scan that is under way. */
  progress: Progress | undefined;
  failure: unknown;
  #running: AbortController | undefined;

  constructor() {
    super();
    this.whileConnected(() => () => this.stop());
    this.addEventListener('lifted', (event) => {
      if (event instanceof CustomEvent) this.forget(event.detail);
    });
  }

  stop() {
    this.#running?.abort();
    this.progress = undefined;
  }

  async scan() {
    this.stop();
    const running = new AbortController();
    this.#running = running;
    this.failure = undefined;
    this.found = [];
    this.progress = { scanned: 0, total: 0 };
    try {
      for (let next = ''; ;) {
        const part: Page<Ban> & Progress = await api.get(`/api/bans/scan${next}`, running.signal);
        if (running.signal.aborted) return;
        this.add(part.items);
        const scanned = Math.min(part.total, this.progress.scanned + part.scanned);
        this.progress = { scanned, total: part.total };
        if (part.next === null || this.isFull) break;
        next = url`?after=${part.next}`;
      }
    } catch (error) {
      if (running.signal.aborted) return;
      this.failure = error;
    }
    this.progress = undefined;
  }

  get isFull() {
    return (this.found?.length ?? 0) >= maxFound;
  }

  /** A key of Redis may come twice. */
  add(bans: Ban[]) {
    const found = this.found ?? [];
    const known = new Set(found.map(({ id }) => id));
    this.found = [...found, ...bans.filter(({ id }) => !known.has(id))];
  }

  /** @param lifted id of a key */
  forget(lifted: string) {
    this.found = this.found?.filter(({ id }) => id !== lifted);
  }

  override render() {
    const { found, progress } = this;
    return html`<p class="quiet">
        A ban that was made with <code>redis-cli</code> is in no list until its key sends a request. To find
        it, all of Redis is read, some thousand keys at a time.
      </p>
      <div class="actions">
        ${
          progress === undefined
            ? html`<button type="button" @click=${this.scan}>Look for bans set by hand</button>`
            : html`<button type="button" @click=${this.stop}>Stop</button>`
        }
      </div>
      <div aria-live="polite">
        ${progress === undefined ? nothing : progressView(progress)} ${inlineFailure(this.failure)}
        ${found !== undefined && found.length === 0 && progress === undefined && this.failure === undefined ? html`<p>There are none.</p>` : nothing}
      </div>
      ${this.isFull ? html`<p>There may be more: <code>npm run --silent ops -- bans list</code> shows all.</p>` : nothing}
      ${
        found === undefined || found.length === 0
          ? nothing
          : banTable(this, 'Bans set by hand', found, ({ id }) => {
              this.forget(id);
              this.dispatchEvent(new CustomEvent('changed'));
            })
      }`;
  }
}

function progressView({ scanned, total }: Progress) {
  const share = total === 0 ? 0 : scanned / total;
  return html`<label class="progress"
    >${formatNumber(scanned)} of ${formatNumber(total)} keys of Redis (${formatShare(share)})
    <progress max="1" .value=${share}></progress>
  </label>`;
}

customElements.define('ban-scan', BanScan);
