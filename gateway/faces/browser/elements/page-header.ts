import { html, nothing } from 'lit';
import { productName } from '../page-facts.ts';

/** A tab of a navigation. */
export const tab = (href: string, text: string, isCurrent: boolean) =>
  html`<li>
    <a href=${href} aria-current=${isCurrent ? 'page' : nothing}>${text}</a>
  </li>`;

/** What is above the content of a page. @param end what stands at its end */
export const pageHeader = (home: string, label: string, tabs: readonly unknown[], end: unknown) =>
  html`<a class="skip" href="#main">Skip to the content</a>
    <header class="page-header row">
      <p class="name"><a href=${home}>${productName}</a></p>
      <nav class="tabs" aria-label=${label}>
        <ul class="row">
          ${tabs}
        </ul>
      </nav>
      ${end}
    </header>`;
