import { keyPattern } from '../config/key-prefix.ts';

const apiKey = keyPattern(/[0-9A-Za-z]{38}/);

/** Whether a text holds what looks like an API key. One that is sent in the wrong header must not be logged or returned. */
export function holdsApiKey(text: string): boolean {
  return apiKey().test(text);
}
