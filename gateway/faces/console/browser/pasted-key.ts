import { keyPrefix } from '../../browser/page-facts.ts';
import { api } from './api.ts';
import { keyPath } from './key.ts';

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
