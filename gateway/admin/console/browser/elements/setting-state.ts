import { html } from 'lit';
import { formatNumber } from '../format.ts';
import { issueList } from '../plan-text.ts';
import type { SettingState } from '../responses.ts';

/** What is wrong with a setting, and what gateways enforce if it is not what is stored. */
export const settingState = <T>(
  { issues, enforced, gateways }: SettingState<T>,
  describe: (value: T) => string,
) =>
  html`${issueList(issues)}
  ${
    enforced.length === 0
      ? html`<p class="quiet">
          ${gateways === 0 ? 'No gateway enforces it yet.' : `In force on ${formatNumber(gateways)} ${gateways === 1 ? 'gateway' : 'gateways'}.`}
        </p>`
      : html`<ul class="warnings">
          ${enforced.map(
            ({ value, gateways }) =>
              html`<li>
                ${formatNumber(gateways)} ${gateways === 1 ? 'gateway enforces' : 'gateways enforce'}:
                ${describe(value)}
              </li>`,
          )}
        </ul>`
  }`;
