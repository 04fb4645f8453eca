import { html, nothing } from 'lit';
import { windowNames } from '../../../limits/windows.ts';
import { windowMeter } from '../../browser/elements/window-meter.ts';
import { supportUrl } from './page-settings.ts';
import type { Customer } from './responses.ts';

/** Plan, what is used of its limits, and where to ask for more. */
export const planSection = ({ plan, windows, now }: Customer) =>
  html`<p>
      Plan: <strong>${plan}</strong>
      ${supportUrl === '' ? nothing : html`· <a href=${supportUrl}>Ask for more</a>`}
    </p>
    <h2>Use now</h2>
    <div class="panels">${windowNames.map((name) => windowMeter(name, windows[name], now))}</div>`;
