import { html, nothing } from 'lit';
import { session } from '../session.ts';

/** Why changes are not offered; nothing for an operator. */
export const viewerNote = () =>
  session.isOperator
    ? nothing
    : html`<p class="quiet">You have a viewer's link: you can look at everything and change nothing.</p>`;

/** The title of a page with what an operator can make there. */
export const pageHead = (title: string, action: string, make: () => unknown) =>
  html`<div class="page-head">
    <h1>${title}</h1>
    ${session.isOperator ? html`<button type="button" class="primary" @click=${make}>${action}</button>` : viewerNote()}
  </div>`;
