import type { ReactiveControllerHost } from 'lit';
import { session } from './session.ts';

/**
 * Reads again and again while a page is shown and visible: not in a background tab, never twice at once, and not for a
 * person who does not want to sign in again. A controller of lit.
 */
export class Refresher {
  readonly read: () => Promise<unknown>;
  readonly intervalMs: () => number;
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

  /**
   * @param read shows its own failures
   * @param intervalMs asked for after each read
   */
  constructor(host: ReactiveControllerHost, read: () => Promise<unknown>, intervalMs: () => number) {
    this.read = read;
    this.intervalMs = intervalMs;
    host.addController(this);
  }

  hostConnected() {
    this.active = true;
    document.addEventListener('visibilitychange', this.onVisible);
    this.unsubscribe = session.subscribe(() => {
      if (this.isWaiting && !session.hasGivenUp) void this.now();
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
    this.isWaiting = session.hasGivenUp;
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
    try {
      do {
        this.again = false;
        await this.read();
      } while (this.again && this.active);
    } finally {
      this.reading = false;
      if (this.active && document.visibilityState === 'visible') {
        this.timer = setTimeout(() => this.tick(), this.intervalMs());
      }
    }
  }
}
