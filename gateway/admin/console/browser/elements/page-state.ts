import { html } from 'lit';
import { ApiFailure } from '../api-failure.ts';

/** What a page shows while it loads. */
export const loading = () => html`<p class="quiet" role="status">Loading…</p>`;

/**
 * What a page shows in place of what could not be read.
 * @param {unknown} error
 * @param {() => void} retry
 */
export function loadFailure(error, retry) {
  return html`<div class="panel failure" role="alert">
    <p>${failureText(error)}</p>
    <button type="button" @click=${retry}>Try again</button>
  </div>`;
}

/**
 * @param {string} title what is missing
 * @param {unknown} advice what to do
 */
export const emptyState = (title, advice) =>
  html`<div class="panel empty">
    <p><strong>${title}</strong></p>
    <p>${advice}</p>
  </div>`;

/** @param {unknown} error */
export function failureText(error) {
  if (error instanceof ApiFailure) return error.message;
  return `Something went wrong in this page: ${error instanceof Error ? error.message : String(error)}`;
}

/** A failure next to what failed. @param {unknown} error */
export const inlineFailure = (error) =>
  error === undefined ? undefined : html`<p class="failure-text" role="alert">${failureText(error)}</p>`;

/** Doubts about a change that was made. @param {string[] | undefined} warnings */
export const warningList = (warnings) =>
  warnings === undefined || warnings.length === 0
    ? undefined
    : html`<ul class="warnings" role="status">
        ${warnings.map((warning) => html`<li>${warning}</li>`)}
      </ul>`;
