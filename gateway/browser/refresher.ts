import type { ReactiveControllerHost } from 'lit';
import { ApiFailure } from './api-failure.ts';
import { loadFailure, loading } from './elements/page-state.ts';

/** Whether anybody is there to read for. A page whose people can sign in again says when they do not want to. */
export const readers = {
  haveLeft: () => false,
  /** @param _listener called when that may have changed. @returns ends it */
  subscribe: (_listener: () => void) => () => {},
};

/**
 * Reads again and again while a page is shown and visible: not in a background tab, never twice at once, and not for a
 * person who does not want to sign in again. A controller of lit.
 */
export class Refresher {
  readonly read: () => Promise<unknown>;
  readonly intervalMs: () => number;
  readonly host: ReactiveControllerHost;
  /** Why the last read failed. */
  failure: unknown;
  active = false;
  reading = false;
  /** Whether it was asked for during a read, which may be too old then. */
  again = false;
  /** Whether it waits for a session. */
  isWaiting = false;
  timer: ReturnType<typeof setTimeout> | undefined;
  unsubscribe: (() => void) | undefined;
  onVisible = () => {
    if (document.visibilityState === 'visible') this.tick();
  };

  /** @param intervalMs asked for after each read */
  constructor(host: ReactiveControllerHost, read: () => Promise<unknown>, intervalMs: () => number) {
    this.host = host;
    this.read = read;
    this.intervalMs = intervalMs;
    host.addController(this);
  }

  hostConnected() {
    this.active = true;
    document.addEventListener('visibilitychange', this.onVisible);
    this.unsubscribe = readers.subscribe(() => {
      if (this.isWaiting && !readers.haveLeft()) void this.now();
    });
    void this.now();
  }

  hostDisconnected() {
    this.active = false;
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.onVisible);
    this.unsubscribe?.();
  }

  /** Reads, unless that would only ask again to sign in. */
  tick() {
    this.isWaiting = readers.haveLeft();
    if (!this.isWaiting) void this.now();
  }

  async now() {
    clearTimeout(this.timer);
    this.isWaiting = false;
    if (this.reading) {
      this.again = true;
      return;
    }
    this.reading = true;
    do {
      this.again = false;
      this.failure = await this.read().then(
        () => undefined,
        (error: unknown) => error,
      );
    } while (this.again && this.active);
    this.reading = false;
    this.host.requestUpdate();
    if (this.active && document.visibilityState === 'visible') {
      const retryAfterMs = this.failure instanceof ApiFailure ? this.failure.retryAfterMs : 0;
      this.timer = setTimeout(() => this.tick(), Math.max(this.intervalMs(), retryAfterMs));
    }
  }

  /** What a page shows in place of what was not read yet. */
  placeholder() {
    return this.failure === undefined ? loading() : loadFailure(this.failure, () => void this.now());
  }
}
