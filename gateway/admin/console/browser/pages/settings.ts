import '../elements/ban-policy-form.ts';
import '../elements/number-setting.ts';
import { html } from 'lit';
import { LightElement } from '../elements/light-element.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatNumber, plural } from '../format.ts';

const dayMs = 86_400_000;
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Settings of the whole fleet. Each is saved on its own. */
class PageSettings extends LightElement {
  override render() {
    return html`<h1>Settings</h1>
      ${viewerNote()}
      <h2>Bans</h2>
      <ban-policy-form></ban-policy-form>
      <h2>Requests without a valid key</h2>
      <number-setting
        path="/api/settings/anonymous"
        field="minute"
        label="Limit of each address"
        unit="requests a minute"
        .effect=${anonymousEffect}
      ></number-setting>
      <h2>Record of use</h2>
      <number-setting
        path="/api/settings/usage"
        field="retentionDays"
        label="Kept for"
        unit="days"
        .effect=${retentionEffect}
      ></number-setting>`;
  }
}

const anonymousEffect = (minute: number) =>
  `Each address may send ${plural(minute, 'request')} a minute without a valid key, such as with a mistyped one; further ones get 429. Requests with a valid key are not concerned.`;

function retentionEffect(retentionDays: number) {
  const first = new Date(Date.now() - retentionDays * dayMs);
  return `The use of each key is kept for ${formatNumber(retentionDays)} days: today from ${days.format(first)} on. What is older is deleted, and cannot be brought back.`;
}

customElements.define('page-settings', PageSettings);
