import { html, nothing } from 'lit';
import { actionButtons, type Action } from '../../../browser/elements/menu.ts';
import { session } from '../api.ts';

/** Why changes are not offered; nothing for an operator. */
export const viewerNote = () =>
  session.isOperator
    ? nothing
    : html`<p class="quiet">You have a viewer's link: you can look at everything and change nothing.</p>`;

/** A heading, with what an operator can do beside it. The texts of actions end with … if they ask for something first. */
export const head = (heading: unknown, ...actions: (Action | false)[]) =>
  html`<div class="head row spread">
    ${heading} ${session.isOperator ? html`<div class="actions">${actionButtons(actions)}</div>` : nothing}
  </div>`;
