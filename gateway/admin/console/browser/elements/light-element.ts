import { LitElement } from 'lit';

/** An element without a shadow root: styles, labels and links work across the whole page. */
export class LightElement extends LitElement {
  /** @override */
  createRenderRoot() {
    return this;
  }
}
