import { html, nothing } from 'lit';
import { session } from '../session.ts';

/** Why changes are not offered; nothing for an operator. */
export const viewerNote = () =>
  session.isOperator
    ? nothing
    : html`<p class="quiet">You have a viewer's link: you can look at everything and change nothing.</p>`;

/** The title of a page. @param makes what an operator can make there: a text, and what makes it */
export const pageHead = (title: string, makes?: readonly [text: string, make: () => unknown]) =>
  html`<div class="page-head">
      <h1>${title}</h1>
      ${
        makes !== undefined && session.isOperator
          ? html`<button type="button" class="primary" @click=${makes[1]}>${makes[0]}</button>`
          : nothing
      }
    </div>
    ${viewerNote()}`;
