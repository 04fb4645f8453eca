import '../elements/ban-policy.ts';
import '../elements/number-setting.ts';
import { html } from 'lit';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { formatNumber, plural } from '../../../../browser/format.ts';
import { anonymousField, anonymousWindow, retentionField } from '../../../../limits/setting-fields.ts';
import { viewerNote } from '../elements/viewer-note.ts';

const dayMs = 86_400_000;
const days = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone: 'UTC' });

/** Settings of the whole fleet. Each is saved on its own. */
class PageSettings extends LightElement {
  override render() {
    return html`<h1>Settings</h1>
      ${viewerNote()}
      <h2>Bans</h2>
      <ban-policy></ban-policy>
      <h2>Requests without a valid key</h2>
      <number-setting
        path="/api/settings/anonymous"
        field=${anonymousWindow}
        .words=${anonymousField}
        .effectOf=${anonymousEffect}
      ></number-setting>
      <h2>Record of use</h2>
      <number-setting
        path="/api/settings/usage"
        field="retentionDays"
        .words=${retentionField}
        .effectOf=${retentionEffect}
      ></number-setting>`;
  }
}

const anonymousEffect = (minute: number) =>
  `Each address may send ${plural(minute, 'request')} a minute without a valid key, such as with a mistyped one; further ones get 429. Requests with a valid key are not concerned.`;

function retentionEffect(retentionDays: number) {
  const first = new Date(Date.now() - retentionDays * dayMs);
  return `The use of each key is kept for ${formatNumber(retentionDays)} days: today from ${days.format(first)} on. What is older is no longer shown.`;
}

customElements.define('page-settings', PageSettings);
