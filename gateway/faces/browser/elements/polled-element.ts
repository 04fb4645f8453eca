import { html } from 'lit';
import { ApiFailure } from '../api-failure.ts';
import type { Changed } from '../responses.ts';
import { ActingElement } from './acting-element.ts';
import { tell } from './notice.ts';
import { inlineFailure, loadFailure, loading } from './page-state.ts';

/** An element that reads again and again what it shows while it is visible: not in a background tab, and never twice at once. */
export abstract class PolledElement<Content> extends ActingElement {
  content: Content | undefined;
  /** Why the last read failed. */
  readFailure: unknown;
  #reading = false;
  /** Whether it was asked for during a read, which may be too old then. */
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => {
      const onVisible = () => {
        if (!document.hidden) void this.reload();
      };
      document.addEventListener('visibilitychange', onVisible);
      void this.reload();
      return () => {
        clearTimeout(this.#timer);
        document.removeEventListener('visibilitychange', onVisible);
      };
    });
  }

  /** @returns undefined if what is shown stays */
  abstract read(): Promise<Content | undefined>;
  abstract view(content: Content): unknown;

  /** Time from the end of a read to the next one. */
  get pauseMs() {
    return 5000;
  }

  async reload() {
    clearTimeout(this.#timer);
    this.#again = this.#reading;
    if (this.#reading) return;
    this.#reading = true;
    do {
      this.#again = false;
      try {
        this.content = (await this.read()) ?? this.content;
        this.readFailure = undefined;
      } catch (error) {
        this.readFailure = error;
      }
    } while (this.#again && this.isConnected);
    this.#reading = false;
    if (!this.isConnected || document.hidden) return;
    const retryAfterMs = this.readFailure instanceof ApiFailure ? this.readFailure.retryAfterMs : 0;
    this.#timer = setTimeout(() => void this.reload(), Math.max(this.pauseMs, retryAfterMs));
  }

  /** Makes a change from a dialog, says what it did, and shows what is there then. */
  async saved<T>(change: Promise<Changed<T>>, done: string | ((changed: T) => string)) {
    await tell(change, done);
    await this.reload();
  }

  /** Makes a change without a dialog. The page shows why it failed. */
  make(change: () => Promise<Changed>, done: string) {
    return this.act(() => this.saved(change(), done));
  }

  override render(): unknown {
    const { content, failure, readFailure } = this;
    if (content !== undefined) return html`${inlineFailure(readFailure ?? failure)} ${this.view(content)}`;
    return readFailure === undefined ? loading() : loadFailure(readFailure, () => void this.reload());
  }
}
