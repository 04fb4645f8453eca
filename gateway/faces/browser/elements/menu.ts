import { html, nothing } from 'lit';
import type { Column } from './table.ts';

/** What can be done, in words. */
export interface Action {
  text: string;
  act: () => unknown;
  /** What it does to which item. If it is the only one of a row, it is a button without a menu. */
  name?: string;
  /** What it looks like. */
  tone?: 'primary' | 'danger' | 'plain';
}

/**
 * A button that opens a menu of further actions.
 * @param id of the menu, on its page
 * @param options name: of the button, if it is not its label. about: what the menu says above the actions
 */
export const menu = (
  id: string,
  label: unknown,
  actions: readonly (Action | false)[],
  { name, about }: { name?: string; about?: unknown } = {},
) =>
  html`<button type="button" popovertarget=${id} aria-label=${name ?? nothing}>${label}</button>
    <div class="menu" id=${id} popover>${about} ${actionButtons(actions)}</div>`;

/** A button for each action, in a menu or in a row. @param isNamed whether the item is not clear from what is around them */
export const actionButtons = (actions: readonly (Action | false)[], isNamed = false) =>
  actions
    .filter((action) => action !== false)
    .map(
      (action) =>
        html`<button
          type="button"
          class=${action.tone ?? nothing}
          aria-label=${(isNamed && action.name) || nothing}
          @click=${choose(action)}
        >
          ${action.text}
        </button>`,
    );

/** A last column with a menu for each item; nothing without an action. */
export const menuColumn = <Item extends { id: string } | { name: string }>(
  nameOf: (item: Item) => string,
  actionsOf: (item: Item) => readonly (Action | false)[],
): Column<Item> => [
  'Actions',
  (item) => {
    const actions = actionsOf(item).filter((action) => action !== false);
    if (actions.length === 1 && actions[0]?.name !== undefined) return actionButtons(actions, true);
    return actions.length > 0
      ? menu(`menu-${'id' in item ? item.id : item.name}`, '⋯', actions, {
          name: `Actions of ${nameOf(item)}`,
        })
      : nothing;
  },
  'more',
];

/** Closes the menu, if it is in one, first: a dialog that the action opens gives the focus back to where it is then. */
const choose =
  ({ act }: Action) =>
  ({ currentTarget }: Event) => {
    if (currentTarget instanceof HTMLElement) currentTarget.closest<HTMLElement>('[popover]')?.hidePopover();
    act();
  };
