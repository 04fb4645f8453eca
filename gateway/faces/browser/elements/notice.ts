import { html } from 'lit';
import { ApiFailure } from '../request.ts';
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
          html`<div class="panel notice row spread">
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

/** What a page shows while it loads. */
export const loading = () => html`<p class="quiet" role="status">Loading…</p>`;

/** What a page shows in place of what could not be read. */
export function loadFailure(error: unknown, retry: () => void) {
  return html`<div class="panel failure" role="alert">
    <p>${failureText(error)}</p>
    <button type="button" @click=${retry}>Try again</button>
  </div>`;
}

export function failureText(error: unknown) {
  if (error instanceof ApiFailure) return error.message;
  return `Something went wrong in this page: ${error instanceof Error ? error.message : String(error)}`;
}

/** A failure next to what failed. */
export const inlineFailure = (error: unknown) =>
  error === undefined ? undefined : html`<p class="failure-text" role="alert">${failureText(error)}</p>`;
