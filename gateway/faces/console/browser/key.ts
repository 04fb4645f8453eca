import { html, nothing } from 'lit';
import { windowNames, type ByWindow } from '../../../limits/windows.ts';
import { formatTime, withTimes } from '../../browser/format.ts';
import { keyPrefix } from '../../browser/page-facts.ts';
import { api, url } from './api.ts';
import type { NextRequest } from './responses.ts';

interface Named {
  id: string;
  name: string;
}

export const keyTitle = ({ id, name }: Named) => name || id;

/** Path of a key or of a customer in the API. */
export const apiPath = (id: string) =>
  id.startsWith('cus_') ? url`/api/customers/${id}` : url`/api/keys/${id}`;

/** Path of the page of a key or of a customer. */
export const keyPath = (id: string) =>
  id.startsWith('cus_') ? url`/console/customers/${id}` : url`/console/keys/${id}`;

/** Link to the page of a key or of a customer. */
export const keyLink = (named: Named) => html`<a href=${keyPath(named.id)}>${keyTitle(named)}</a>`;

/** Link to the page of a plan. @param plan none if empty */
export const planLink = (plan: string) =>
  plan === '' ? '–' : html`<a href=${url`/console/plans/${plan}`}>${plan}</a>`;

/** Says whether a key or a customer has limits of its own. */
export const ownLimitsNote = (own: ByWindow<number | null>) =>
  windowNames.some((name) => (own[name] ?? null) !== null)
    ? html`<span class="quiet">own limits</span>`
    : nothing;

/** What a request gets, with times in the viewer's zone. */
export function describeNext(next: NextRequest) {
  if (next.served || next.until === null) return withTimes(next.message);
  return html`refused until ${formatTime(next.until, { dateStyle: 'time' })}: ${next.why}`;
}

/**
 * An API key, or most of one, in a text that was pasted or typed. It must not get into an address, and so not into a search.
 * Fewer characters are searched for as a hint.
 */
const keyPart = new RegExp(`${keyPrefix}[0-9A-Za-z]{13,}`);
/** A key that was copied without its prefix: no name is such a word. */
const bareKey = /^[0-9A-Za-z]{38}$/;
const keyHash = /(?<![\da-f])[\da-f]{64}(?![\da-f])/i;

/** @returns what to look up, in the body of a request only; undefined if the text is to be searched for */
export function pastedKey(text: string): string | undefined {
  const trimmed = text.trim();
  if (bareKey.test(trimmed)) return keyPrefix + trimmed;
  return keyPart.test(trimmed) || keyHash.test(trimmed) ? trimmed : undefined;
}

/** @returns the path of the page of a pasted key */
export const findKey = async (text: string) =>
  keyPath((await api.post<{ id: string }>('/api/keys/find', { text })).id);
