import { LitElement } from 'lit';

/**
 * An element without a shadow root: styles, labels and links work across the whole page. Its fields are its state: when one
 * changes, it renders again. A private field (#name) is no state, and only one of `properties` has an attribute.
 */
export class LightElement extends LitElement {
  #class: typeof LightElement;
  /** Fields of lit itself; undefined when the others have become state. */
  #ofLit: ReadonlySet<string> | undefined;

  constructor() {
    super();
    this.#class = new.target;
    // With the first controller, lit has all of its fields.
    this.addController({});
    this.#ofLit = new Set(Object.keys(this));
  }

  override createRenderRoot() {
    return this;
  }

  override connectedCallback() {
    if (this.#ofLit !== undefined) this.#makeState(this.#ofLit);
    super.connectedCallback();
  }

  /** A field hides the accessor of the reactive property of its name. Its value goes there instead. */
  #makeState(ofLit: ReadonlySet<string>) {
    this.#ofLit = undefined;
    for (const [name, value] of Object.entries(this)) {
      if (ofLit.has(name)) continue;
      if (!(name in this.#class.prototype)) this.#class.createProperty(name, { state: true });
      Reflect.deleteProperty(this, name);
      Reflect.set(this, name, value);
    }
  }

  /** Begins something whenever the element is put into the page. @param begin the signal ends it when the element is taken out */
  whileConnected(begin: (signal: AbortSignal) => void) {
    let connected = new AbortController();
    this.addController({
      hostConnected: () => begin((connected = new AbortController()).signal),
      hostDisconnected: () => connected.abort(),
    });
  }
}

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
