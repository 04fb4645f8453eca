import 'webawesome/components/dialog/dialog.js';
import type { PropertyDeclarations } from 'lit';
import { ActingElement } from './acting-element.ts';

/** A dialog that makes a change. It stays open with the error if that fails. */
export class DialogElement extends ActingElement {
  static override properties: PropertyDeclarations = { open: { state: true } };

  open = false;

  show() {
    this.failure = undefined;
    this.open = true;
  }

  /** Fields in the dialog may fire the same event. */
  closed(event: Event) {
    if (event.target === event.currentTarget) this.open = false;
  }
}

/** @param selector of a dialog in the element */
export function showDialog(element: Element, selector: string) {
  const dialog = element.querySelector(selector);
  if (dialog instanceof DialogElement) dialog.show();
}
