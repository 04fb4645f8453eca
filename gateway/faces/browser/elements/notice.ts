import { html } from 'lit';
import type { Changed } from '../responses.ts';
import { LightElement } from './light-element.ts';

type Notice = { text: string; warnings: string[] };

const shownMs = 8000;

/** Says what a change did, for some seconds, also to screen readers. Errors are shown next to what failed instead. */
export class NoticeRegion extends LightElement {
  notices: Notice[] = [];

  /** @param warnings stay until they are closed */
  add(text: string, warnings: string[]) {
    const notice = { text, warnings };
    this.notices = [...this.notices, notice];
    if (warnings.length === 0) setTimeout(() => this.close(notice), shownMs);
  }

  close(closed: Notice) {
    this.notices = this.notices.filter((notice) => notice !== closed);
  }

  override render() {
    return html`<div class="notices" role="status" aria-live="polite">
      ${this.notices.map(
        (notice) =>
          html`<div class="notices-item">
            <div>
              <p>${notice.text}</p>
              ${notice.warnings.map((warning) => html`<p class="failure-text">${warning}</p>`)}
            </div>
            <button type="button" class="plain" aria-label="Close" @click=${() => this.close(notice)}>
              ✕
            </button>
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
