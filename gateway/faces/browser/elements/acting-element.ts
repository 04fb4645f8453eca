import { LightElement } from './light-element.ts';

/** An element that makes changes: one at a time, and it shows why the last one failed. */
export class ActingElement extends LightElement {
  busy = false;
  failure: unknown;

  async act(change: () => Promise<unknown>): Promise<void> {
    if (this.busy) return;
    const { activeElement } = document;
    this.busy = true;
    this.failure = undefined;
    try {
      await change();
    } catch (error) {
      this.failure = error;
    } finally {
      this.busy = false;
      await this.updateComplete;
      // A button that is disabled meanwhile loses the focus.
      const isLost = document.activeElement === document.body;
      if (isLost && activeElement instanceof HTMLElement && activeElement.isConnected) activeElement.focus();
    }
  }
}
