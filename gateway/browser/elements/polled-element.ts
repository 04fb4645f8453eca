import { html, type TemplateResult } from 'lit';
import { Refresher } from '../refresher.ts';
import type { Changed } from '../responses.ts';
import { ActingElement } from './acting-element.ts';
import { tell } from './notice.ts';
import { inlineFailure } from './page-state.ts';

/** An element that reads again and again what it shows. */
export abstract class PolledElement<Content> extends ActingElement {
  content: Content | undefined;
  readonly refresher = new Refresher(
    this,
    async () => {
      this.content = (await this.read()) ?? this.content;
    },
    () => this.pauseMs,
  );

  /** @returns undefined if what is shown stays */
  abstract read(): Promise<Content | undefined>;
  abstract view(content: Content): unknown;

  /** Time from the end of a read to the next one. */
  get pauseMs() {
    return 5000;
  }

  reload() {
    void this.refresher.now();
  }

  /** Makes a change from a dialog, says what it did, and shows what is there then. */
  async saved<T>(change: Promise<Changed<T>>, done: string | ((changed: T) => string)) {
    await tell(change, done);
    await this.refresher.now();
  }

  override render(): TemplateResult {
    const { content, refresher } = this;
    if (content === undefined) return refresher.placeholder();
    return html`${inlineFailure(refresher.failure)} ${this.view(content)}`;
  }
}
