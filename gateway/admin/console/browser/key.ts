import { html } from 'lit';
import { formatNumber, formatTime } from './format.ts';
import type { NextRequest } from './responses.ts';
import { url } from './url.ts';

const states: Record<string, [label: string, tone: string]> = {
  valid: ['Valid', 'good'],
  active: ['Active', 'good'],
  suspended: ['Suspended', 'bad'],
  limited: ['Over its limit', 'caution'],
  no_limits: ['No limits', 'bad'],
  banned: ['Banned', 'bad'],
  expired: ['Expired', 'caution'],
  revoked: ['Revoked', 'bad'],
  unusable: ['Invalid record', 'bad'],
  gone: ['No record', 'bad'],
  lost: ['Not in the index', 'bad'],
};

export function stateTag(state: string) {
  const [label, tone] = states[state] ?? [state, ''];
  return html`<span class="tag ${tone}">${label}</span>`;
}

export const keyTitle = ({ id, name }: { id: string; name: string }) => (name === '' ? id : name);

/** Path of a key or of a customer in the API. */
export const apiPath = (id: string) =>
  id.startsWith('cus_') ? url`/api/customers/${id}` : url`/api/keys/${id}`;

/** Path of the page of a key or of a customer. */
export const keyPath = (id: string) =>
  id.startsWith('cus_') ? url`/console/customers/${id}` : url`/console/keys/${id}`;

/** @param window such as "59 of 60 used" */
export const usedOf = ({ used, limit }: { used: number; limit: number | null }) =>
  limit === null ? `${formatNumber(used)} used` : `${formatNumber(used)} of ${formatNumber(limit)} used`;

/** What a request gets, with times in the viewer's zone. */
export function describeNext(next: NextRequest) {
  if (next.served || next.until === null) return next.message;
  return html`refused until ${formatTime(next.until, { dateStyle: 'time' })}: ${next.why}`;
}
