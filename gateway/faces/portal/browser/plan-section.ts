import { html, nothing } from 'lit';
import { windowMeters } from '../../browser/elements/window-meter.ts';
import { supportUrl } from './page-settings.ts';
import type { Customer } from './responses.ts';

/** Plan, what is used of its limits, and where to ask for more. */
export const planSection = (customer: Customer) =>
  html`<p>
      Plan: <strong>${customer.plan}</strong>
      ${supportUrl === '' ? nothing : html`· <a href=${supportUrl}>Ask for more</a>`}
    </p>
    <h2>Use now</h2>
    ${windowMeters(customer)}`;
