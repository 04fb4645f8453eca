import { html } from 'lit';
import type { Changed } from '../request.ts';
import { ActingElement } from './light-element.ts';
import { inlineFailure, loadFailure, loading, notify } from './notice.ts';

/** An element that reads again and again what it shows while it is visible: not in a background tab, and never twice at once. */
export abstract class PolledElement<Content> extends ActingElement {
  static override properties = { item: {} };

  /** Id or name of the one thing that it shows, if it does. */
  item = '';
  content: Content | undefined;
  /** Why the last read failed. */
  readFailure: unknown;
  #reading = false;
  /** Whether it was asked for during a read, which may be too old then. */
  #again = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    super();
    this.whileConnected((signal) => {
      signal.addEventListener('abort', () => clearTimeout(this.#timer));
      document.addEventListener('visibilitychange', () => document.hidden || void this.reload(), { signal });
      void this.reload();
    });
  }

  /** @returns undefined if what is shown stays */
  abstract read(): Promise<Content | undefined>;
  abstract view(content: Content): unknown;

  /** Time from the end of a read to the next one. */
  get pauseMs() {
    return 2000;
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
    this.#timer = setTimeout(() => void this.reload(), this.pauseMs);
  }

  /** Waits for a change, says what it did, and shows what is there then. */
  async saved<T extends Changed>(change: Promise<T>, done: string | ((changed: T) => string)) {
    const changed = await change;
    notify(typeof done === 'string' ? done : done(changed), changed.warnings);
    await this.reload();
  }

  override render(): unknown {
    const { content, failure, readFailure } = this;
    if (content !== undefined) return html`${inlineFailure(readFailure ?? failure)} ${this.view(content)}`;
    return readFailure === undefined ? loading() : loadFailure(readFailure, () => void this.reload());
  }
}
