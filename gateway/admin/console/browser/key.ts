import { html } from 'lit';
import { formatNumber, formatTime } from './format.ts';
import { url } from './url.ts';

/** @typedef {{ used: number, limit: number | null, remaining: number | null, resetsAt: string }} KeyWindow */
/** @typedef {{ limit: number | null, from: 'key' | 'plan' | 'gateways' | null, plan: number | null }} LimitInForce */
/**
 * @typedef {{ served: true, message: string }
 *   | { served: false, reason: string, message: string, until: string | null, why: string }} NextRequest
 */
/** @typedef {{ reason: string, until: string, since: string | null, who: string | null }} KeyBan */
/**
 * @typedef {{ from: 'key' | 'plan', minute: number, day: number, since: string, requests: number, refusedMinute: number,
 *   refusedDay: number }} KeyTrial
 */
/**
 * A key as GET /api/keys/{id} describes it.
 * @typedef {{ id: string, name: string, plan: string, hint: string, state: string, createdAt: string,
 *   expiresAt: string | null, revokedAt: string | null, replaces: string | null, replacedBy: string | null,
 *   batch: string | null, rev: number, issues: string[], own: { minute: number | null, day: number | null },
 *   limits: { minute: LimitInForce, day: LimitInForce } | null,
 *   windows: { minute: KeyWindow, day: KeyWindow } | null, strikes: number | null, strikesToBan: number | null,
 *   ban: KeyBan | null, trial: KeyTrial | null, next: NextRequest, now: string }} Key
 */

/** @type {Record<string, [label: string, tone: string]>} */
const states = {
  valid: ['Valid', 'good'],
  limited: ['Over its limit', 'caution'],
  no_limits: ['No limits', 'bad'],
  banned: ['Banned', 'bad'],
  expired: ['Expired', 'caution'],
  revoked: ['Revoked', 'bad'],
  unusable: ['Invalid record', 'bad'],
  gone: ['No record', 'bad'],
  lost: ['Not in the index', 'bad'],
};

/** @param {string} state */
export function stateTag(state) {
  const [label, tone] = states[state] ?? [state, ''];
  return html`<span class="tag ${tone}">${label}</span>`;
}

/** @param {{ id: string, name: string }} key */
export const keyTitle = ({ id, name }) => (name === '' ? id : name);

/** @param {string} id */
export const keyPath = (id) => url`/console/customers/${id}`;

/** @param {{ used: number, limit: number | null }} window such as "59 of 60 used" */
export const usedOf = ({ used, limit }) =>
  limit === null ? `${formatNumber(used)} used` : `${formatNumber(used)} of ${formatNumber(limit)} used`;

/**
 * What a request gets, with times in the viewer's zone.
 * @param {NextRequest} next
 */
export function describeNext(next) {
  if (next.served || next.until === null) return next.message;
  return html`refused until ${formatTime(next.until, { dateStyle: 'time' })}: ${next.why}`;
}
