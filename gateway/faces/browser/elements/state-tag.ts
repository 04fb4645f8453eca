import { html } from 'lit';
import { capitalized } from '../format.ts';

/** The words of states that are not their own, and tones of those that are not normal. */
const states: Record<string, readonly [text: string, tone?: string]> = {
  valid: ['active'],
  limited: ['over its limit', 'caution'],
  suspended: ['suspended', 'bad'],
  banned: ['banned', 'bad'],
  expired: ['expired', 'caution'],
  revoked: ['revoked', 'bad'],
  starting: ['starting', 'caution'],
  draining: ['draining', 'caution'],
  incomplete: ['workers missing', 'caution'],
  not_seen: ['not seen', 'bad'],
  not_ready: ['not ready', 'caution'],
  down: ['down', 'bad'],
  unavailable: ['unavailable', 'bad'],
  failing: ['failing', 'bad'],
  disabled: ['disabled', 'bad'],
};

export const stateText = (state: string) => states[state]?.[0] ?? state;

/** The state of anything: one word for a state everywhere, and a colour for what is not normal. */
export const stateTag = (state: string) =>
  html`<span class="tag ${states[state]?.[1] ?? ''}">${capitalized(stateText(state))}</span>`;
