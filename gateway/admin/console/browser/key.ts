import { html } from 'lit';
import { formatNumber, formatTime } from './format.ts';

export type KeyWindow = { used: number; limit: number | null; remaining: number | null; resetsAt: string };
export type LimitInForce = {
  limit: number | null;
  from: 'key' | 'plan' | 'gateways' | null;
  plan: number | null;
};
export type NextRequest =
  | { served: true; message: string }
  | { served: false; reason: string; message: string; until: string | null; why: string };
export type KeyBan = { reason: string; until: string; since: string | null; who: string | null };
type KeyTrial = {
  from: 'key' | 'plan';
  minute: number;
  day: number;
  since: string;
  requests: number;
  refusedMinute: number;
  refusedDay: number;
};
/** A key as GET /api/keys/{id} describes it. */
export type Key = {
  id: string;
  name: string;
  plan: string;
  hint: string;
  state: string;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
  replaces: string | null;
  replacedBy: string | null;
  batch: string | null;
  rev: number;
  issues: string[];
  own: { minute: number | null; day: number | null };
  limits: { minute: LimitInForce; day: LimitInForce } | null;
  windows: { minute: KeyWindow; day: KeyWindow } | null;
  strikes: number | null;
  strikesToBan: number | null;
  ban: KeyBan | null;
  trial: KeyTrial | null;
  next: NextRequest;
  now: string;
};

const states: Record<string, [label: string, tone: string]> = {
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

export function stateTag(state: string) {
  const [label, tone] = states[state] ?? [state, ''];
  return html`<span class="tag ${tone}">${label}</span>`;
}

export const keyTitle = ({ id, name }: { id: string; name: string }) => (name === '' ? id : name);

export const keyPath = (id: string) => `/console/customers/${encodeURIComponent(id)}`;

/** @param window such as "59 of 60 used" */
export const usedOf = ({ used, limit }: { used: number; limit: number | null }) =>
  limit === null ? `${formatNumber(used)} used` : `${formatNumber(used)} of ${formatNumber(limit)} used`;

/** What a request gets, with times in the viewer's zone. */
export function describeNext(next: NextRequest) {
  if (next.served || next.until === null) return next.message;
  return html`refused until ${formatTime(next.until, { dateStyle: 'time' })}: ${next.why}`;
}
