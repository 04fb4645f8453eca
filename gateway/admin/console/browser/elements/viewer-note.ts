import { html, nothing } from 'lit';
import { session } from '../session.ts';

/** Why changes are not offered; nothing for an operator. */
export const viewerNote = () =>
  session.isOperator
    ? nothing
    : html`<p class="quiet">You have a viewer's link: you can look at everything and change nothing.</p>`;
