import { LitElement } from 'lit';

/** An element without a shadow root: styles, labels and links work across the whole page. */
export class LightElement extends LitElement {
  override createRenderRoot() {
    return this;
  }

  override connectedCallback() {
    // A class field hides the accessor of the reactive property of its name. Its value goes there instead.
    const accessors: object = Object.getPrototypeOf(this);
    for (const [name, value] of Object.entries(this)) {
      if (name in accessors && Reflect.deleteProperty(this, name)) Reflect.set(this, name, value);
    }
    super.connectedCallback();
  }

  /** Begins something whenever the element is put into the page, and ends it when the element is taken out. */
  whileConnected(begin: () => () => void) {
    let end: (() => void) | undefined;
    this.addController({ hostConnected: () => (end = begin()), hostDisconnected: () => end?.() });
  }
}
