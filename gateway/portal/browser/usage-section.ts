import { html } from 'lit';
import { usageDays } from '../../browser/elements/usage-days.ts';
import { windowMeter } from '../../browser/elements/window-meter.ts';
import { windowNames } from '../../limits/windows.ts';
import type { Customer, Usage } from './responses.ts';

/** Plan, what is used of its limits, and what was used by day. */
export const usageSection = ({ plan, windows, now }: Customer, usage: Usage) =>
  html`<p>Plan: <strong>${plan}</strong></p>
    <h2>Use now</h2>
    <div class="panels">${windowNames.map((name) => windowMeter(name, windows[name], now))}</div>
    ${usageDays(usage.days)}`;
