/**
 * Reads again and again while a page is shown and visible: not in a background tab, and never twice at once.
 * @implements {import('lit').ReactiveController}
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
    if (this.reading) return;
    this.reading = true;
    try {
      await this.read();
    } finally {
      this.reading = false;
      if (this.active && document.visibilityState === 'visible') {
        this.timer = setTimeout(() => void this.now(), this.intervalMs());
      }
    }
  }
}
