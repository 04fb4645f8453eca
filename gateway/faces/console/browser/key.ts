import { html, nothing } from 'lit';
import { windowNames, type ByWindow } from '../../../limits/windows.ts';
import type { ActingElement } from '../../browser/elements/light-element.ts';
import { keyPrefix } from '../../browser/page-facts.ts';
import { ApiFailure } from '../../browser/request.ts';
import { api, readPages, url } from './api.ts';
import type { Page } from './responses.ts';
import { router } from './router.ts';

export interface Named {
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

/** Opens the page of a pasted key. */
export const openKey = (page: ActingElement, text: string) =>
  page.act(async () => router.navigate(keyPath((await findOne('key', text)).id)));

/** The first customers or keys that a text finds; none once they are not asked for any more. */
export async function findNamed(noun: string, text: string, count: number, isAsked?: () => boolean) {
  const path = url`/api/${noun}s?search=${text}&limit=${count}`;
  return (await readPages<Page<Named>>(path, count, isAsked))?.items.slice(0, count) ?? [];
}

/**
 * The one customer or key that a text names: its id, a pasted key, or what finds it alone in a search.
 * @throws ApiFailure if it names none, or several
 */
export async function findOne(noun: string, text: string): Promise<Named> {
  const key = pastedKey(text);
  if (key !== undefined) return api.post('/api/keys/find', { text: key });
  if (/^(?:cus|key)_\w+$/.test(text)) return { id: text, name: '' };
  const [only, other] = await findNamed(noun, text, 2);
  if (only !== undefined && other === undefined) return only;
  const message = `${only === undefined ? 'No' : 'More than one'} ${noun} is found by “${text}”: give its id.`;
  throw new ApiFailure({ code: 'not_found', message });
}
