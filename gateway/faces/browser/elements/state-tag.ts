import { html } from 'lit';
import { capitalized } from '../format.ts';

/** The words of states that are not their own. */
const texts: Record<string, string> = {
  incomplete: 'workers missing',
  not_seen: 'not seen',
  not_ready: 'not ready',
};

/** States that are not normal, by their tones. */
const cautions = /^(?:expired|starting|draining|incomplete|not_ready)$/;
const bads = /^(?:suspended|banned|revoked|not_seen|down|failing|disabled)$/;

export const stateText = (state: string) => texts[state] ?? state;

/** The state of anything: one word for a state everywhere, and a colour for what is not normal. */
export const stateTag = (state: string) =>
  html`<span class="tag ${bads.test(state) ? 'bad' : cautions.test(state) ? 'caution' : ''}"
    >${capitalized(stateText(state))}</span
  >`;
