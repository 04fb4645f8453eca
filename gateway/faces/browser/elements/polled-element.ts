import { html } from 'lit';
import { ApiFailure } from '../api-failure.ts';
import type { Changed } from '../responses.ts';
import { ActingElement } from './acting-element.ts';
import { tell } from './notice.ts';
import { inlineFailure, loadFailure, loading } from './page-state.ts';

/** Whether anybody is there to read for. A page whose people can sign in again says when they do not want to. */
export const readers = {
  haveLeft: () => false,
  /** @param _listener called when that may have changed. @returns ends it */
  subscribe: (_listener: () => void) => () => {},
};

/**
 * An element that reads again and again what it shows while it is visible: not in a background tab, never twice at once, and
 * not for a person who does not want to sign in again.
 */
export abstract class PolledElement<Content> extends ActingElement {
  content: Content | undefined;
  /** Why the last read failed. */
  readFailure: unknown;
  #reading = false;
  /** Whether it was asked for during a read, which may be too old then. */
  #again = false;
  /** Whether it waits for a session. */
  #isWaiting = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected(() => {
      const onVisible = () => {
        if (!document.hidden) this.#tick();
      };
      document.addEventListener('visibilitychange', onVisible);
      const unsubscribe = readers.subscribe(() => {
        if (this.#isWaiting && !readers.haveLeft()) void this.reload();
      });
      void this.reload();
      return () => {
        clearTimeout(this.#timer);
        document.removeEventListener('visibilitychange', onVisible);
        unsubscribe();
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

  /** Reads, unless that would only ask again to sign in. */
  #tick() {
    this.#isWaiting = readers.haveLeft();
    if (!this.#isWaiting) void this.reload();
  }

  async reload() {
    clearTimeout(this.#timer);
    this.#isWaiting = false;
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
    this.#timer = setTimeout(() => this.#tick(), Math.max(this.pauseMs, retryAfterMs));
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
