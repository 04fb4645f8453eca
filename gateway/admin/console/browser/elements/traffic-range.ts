import { html, nothing } from 'lit';
import { formText } from '../form-text.ts';
import { isoTime, localTime } from '../local-time.ts';
import { router } from '../router.ts';
import { freeQuery, presetQuery, presets, rangeOf } from '../shown-range.ts';
import { LightElement } from './light-element.ts';

/** The choice of the range of all charts, which is in the address: up to now, or from one time to another. */
class TrafficRange extends LightElement {
  static override properties = { failure: { state: true } };

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
    event.preventDefault();
    if (!(event.target instanceof HTMLFormElement)) return;
    const data = new FormData(event.target);
    const [from, to] = ['from', 'to'].map((name) => Date.parse(isoTime(formText(data, name))) / 1000);
    if (from === undefined || to === undefined || !(from < to)) {
      this.failure = 'The beginning has to be before the end.';
      return;
    }
    router.setQuery(freeQuery({ from, to }), { replace: false });
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
        <label class="inline"
          >From
          <input
            name="from"
            type="datetime-local"
            step="1"
            required
            .value=${range.isFree ? fieldValue(range.from) : ''}
        /></label>
        <label class="inline"
          >To
          <input
            name="to"
            type="datetime-local"
            step="1"
            required
            .value=${range.isFree ? fieldValue(range.to) : ''}
        /></label>
        <button>Show</button>
      </form>
      ${this.failure === undefined ? nothing : html`<p class="failure-text" role="alert">${this.failure}</p>`}`;
  }
}

const fieldValue = (seconds: number) => localTime(new Date(seconds * 1000).toISOString(), { seconds: true });

function withoutFree() {
  const { query } = router.location;
  query.delete('from');
  return query;
}

customElements.define('traffic-range', TrafficRange);
