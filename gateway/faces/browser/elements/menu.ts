import { html } from 'lit';

/**
 * A button that opens a menu of further actions.
 * @param id of the menu, on its page
 */
export const menu = (id: string, label: string, actions: unknown) =>
  html`<button type="button" popovertarget=${id}>${label} <span aria-hidden="true">▾</span></button>
    <div class="menu-body menu" id=${id} popover @click=${close}>${actions}</div>`;

function close({ currentTarget }: Event) {
  if (currentTarget instanceof HTMLElement) currentTarget.hidePopover();
}
