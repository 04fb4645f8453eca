import { html } from 'lit';
import type { Changed } from '../responses.ts';
import { LightElement } from './light-element.ts';

type Notice = { id: number; text: string; warnings: string[] };

const shownMs = 8000;
let lastId = 0;

/** Says what a change did, for some seconds, also to screen readers. Errors are shown next to what failed instead. */
export class NoticeRegion extends LightElement {
  notices: Notice[] = [];

  /** @param warnings stay until they are closed */
  add(text: string, warnings: string[]) {
    lastId += 1;
    const id = lastId;
    this.notices = [...this.notices, { id, text, warnings }];
    if (warnings.length === 0) setTimeout(() => this.remove_(id), shownMs);
  }

  remove_(id: number) {
    this.notices = this.notices.filter((notice) => notice.id !== id);
  }

  override render() {
    return html`<div class="notices" role="status" aria-live="polite">
      ${this.notices.map(
        ({ id, text, warnings }) =>
          html`<div class="notices-item">
            <div>
              <p>${text}</p>
              ${warnings.map((warning) => html`<p class="failure-text">${warning}</p>`)}
            </div>
            <button type="button" class="plain" aria-label="Close" @click=${() => this.remove_(id)}>✕</button>
          </div>`,
      )}
    </div>`;
  }
}

customElements.define('notice-region', NoticeRegion);

/**
 * @param text what was done, in the past tense
 * @param warnings of the API
 */
export function notify(text: string, warnings: string[] = []) {
  const region = document.querySelector('notice-region');
  if (region instanceof NoticeRegion) region.add(text, warnings);
}

/**
 * Waits for a change, and says what it did.
 * @param text in the past tense, or what gives it
 * @returns what the API says of the change
 */
export async function tell<T extends Changed>(change: Promise<T>, text: string | ((changed: T) => string)) {
  const changed = await change;
  notify(typeof text === 'string' ? text : text(changed), changed.warnings);
  return changed;
}
