import { html, nothing } from 'lit';
import { field } from '../../../../browser/elements/fields.ts';
import { LightElement } from '../../../../browser/elements/light-element.ts';
import { wrongInput } from '../../../../browser/elements/page-state.ts';
import { formTexts } from '../../../../browser/form-text.ts';
import { isoTime, localTime } from '../local-time.ts';
import { router } from '../router.ts';
import { freeQuery, presetQuery, presets, rangeOf } from '../shown-range.ts';

/** The choice of the range of all charts, which is in the address: up to now, or from one time to another. */
class TrafficRange extends LightElement {
  failure: string | undefined;

  constructor() {
    super();
    this.whileConnected(() =>
      router.subscribe(() => {
        this.failure = undefined;
        this.requestUpdate();
      }),
    );
  }

  submit(event: SubmitEvent) {
    const text = formTexts(event);
    const [from, to] = [Date.parse(isoTime(text('from'))) / 1000, Date.parse(isoTime(text('to'))) / 1000];
    if (from < to) router.setQuery(freeQuery({ from, to }), { replace: false });
    else this.failure = 'The beginning has to be before the end.';
  }

  override render() {
    const range = rangeOf(router.location.query);
    const preset = rangeOf(withoutFree());
    return html`<div class="actions" role="group" aria-label="Time range">
        ${presets.map(
          (each) =>
            html`<button
              type="button"
              class="choice"
              aria-pressed=${!range.isFree && range.last === each.last}
              @click=${() => router.setQuery(presetQuery(each))}
            >
              ${each.label}
            </button>`,
        )}
        ${
          range.isFree && !preset.isFree
            ? html`<button
                type="button"
                @click=${() => router.setQuery({ from: '', to: '' }, { replace: false })}
              >
                Zoom out (${preset.label.toLowerCase()})
              </button>`
            : nothing
        }
      </div>
      <form class="free-range" @submit=${this.submit}>
        ${time('From', 'from', range.isFree ? range.from : undefined)}
        ${time('To', 'to', range.isFree ? range.to : undefined)}
        <button>Show</button>
      </form>
      ${wrongInput(this.failure)}`;
  }
}

/** @param seconds Unix time */
const time = (label: string, name: string, seconds: number | undefined) =>
  field(label, name, {
    type: 'datetime-local',
    step: '1',
    required: true,
    className: 'inline',
    value: seconds === undefined ? '' : localTime(new Date(seconds * 1000).toISOString(), { seconds: true }),
  });

function withoutFree() {
  const { query } = router.location;
  query.delete('from');
  return query;
}

customElements.define('traffic-range', TrafficRange);
