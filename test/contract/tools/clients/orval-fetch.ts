import type { ClientOptions } from './client-api.ts';
import { fetchWithStringIds } from './fetch-with-string-ids.ts';

let options: ClientOptions = { url: '', key: '' };

/** Sets the address and the key of all generated functions. */
export function configure(wanted: ClientOptions): void {
  options = wanted;
}

/** Orval's mutator: sends the request of a generated function. */
export async function orvalFetch<T>(path: string, init: RequestInit): Promise<T> {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${options.key}`);
  const response = await fetchWithStringIds(options.url + path, { ...init, headers });
  const text = await response.text();
  const data: unknown = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, data, headers: response.headers } as T;
}
