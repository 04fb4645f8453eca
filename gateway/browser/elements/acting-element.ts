import { ApiFailure } from '../api-failure.ts';
import type { Changed } from '../responses.ts';
import { LightElement } from './light-element.ts';
import { notify } from './notice.ts';

/** An element that makes changes: one at a time, and it shows why the last one failed. */
export class ActingElement extends LightElement {
  busy = false;
  failure: unknown;

  /** @returns whether the change was made */
  async act(change: () => Promise<unknown>): Promise<boolean> {
    if (this.busy) return false;
    const { activeElement } = document;
    this.busy = true;
    this.failure = undefined;
    try {
      await change();
      return true;
    } catch (error) {
      this.failure = error;
      return false;
    } finally {
      this.busy = false;
      await this.updateComplete;
      // A button that is disabled meanwhile loses the focus.
      const isLost = document.activeElement === document.body;
      if (isLost && activeElement instanceof HTMLElement && activeElement.isConnected) activeElement.focus();
    }
  }

  /** Whether the last change failed because somebody else has changed the same. */
  get hasConflict(): boolean {
    return this.failure instanceof ApiFailure && this.failure.code === 'conflict';
  }

  /** Dispatches `changed` with what the API says of it after the change. */
  announce(text: string, changed: Changed): void {
    this.dispatchEvent(new CustomEvent('changed', { detail: changed }));
    notify(text, changed.warnings);
  }
}
