/**
 * Reads again and again while a page is shown and visible: not in a background tab, and never twice at once. A controller of
 * lit.
 */
export class Refresher {
  /**
   * @param {import('lit').ReactiveControllerHost} host
   * @param {() => Promise<unknown>} read shows its own failures
   * @param {() => number} intervalMs asked for after each read
   */
  constructor(host, read, intervalMs) {
    this.read = read;
    this.intervalMs = intervalMs;
    this.active = false;
    this.reading = false;
    /** Whether it was asked for during a read, which may be too old then. */
    this.again = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.onVisible = () => {
      if (document.visibilityState === 'visible') void this.now();
    };
    host.addController(this);
  }

  hostConnected() {
    this.active = true;
    document.addEventListener('visibilitychange', this.onVisible);
    void this.now();
  }

  hostDisconnected() {
    this.active = false;
    clearTimeout(this.timer);
    document.removeEventListener('visibilitychange', this.onVisible);
  }

  async now() {
    clearTimeout(this.timer);
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
        this.timer = setTimeout(() => void this.now(), this.intervalMs());
      }
    }
  }
}
