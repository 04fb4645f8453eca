import { html } from 'lit';
import { ApiFailure } from '../api-failure.ts';

/** What a page shows while it loads. */
export const loading = () => html`<p class="quiet" role="status">Loading…</p>`;

/** What a page shows in place of what could not be read. */
export function loadFailure(error: unknown, retry: () => void) {
  return html`<div class="panel failure" role="alert">
    <p>${failureText(error)}</p>
    <button type="button" @click=${retry}>Try again</button>
  </div>`;
}

/**
 * @param title what is missing
 * @param advice what to do
 */
export const emptyState = (title: string, advice: unknown) =>
  html`<div class="panel empty">
    <p><strong>${title}</strong></p>
    <p>${advice}</p>
  </div>`;

export function failureText(error: unknown) {
  if (error instanceof ApiFailure) return error.message;
  return `Something went wrong in this page: ${error instanceof Error ? error.message : String(error)}`;
}

/** A failure next to what failed. */
export const inlineFailure = (error: unknown) =>
  error === undefined ? undefined : html`<p class="failure-text" role="alert">${failureText(error)}</p>`;

/** Doubts about a change that was made. */
export const warningList = (warnings: string[] | undefined) =>
  warnings === undefined || warnings.length === 0
    ? undefined
    : html`<ul class="warnings" role="status">
        ${warnings.map((warning) => html`<li>${warning}</li>`)}
      </ul>`;
