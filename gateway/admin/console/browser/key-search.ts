import { api } from './api.ts';
import type { KeyList, KeyPlan, Page } from './responses.ts';

const pageSize = 50;
const dayMs = 86_400_000;

/**
 * @param query of the page's address
 * @returns query of GET /api/keys
 */
function apiQuery(query: URLSearchParams): URLSearchParams {
  const wanted = new URLSearchParams({ limit: String(pageSize) });
  for (const name of ['search', 'plan', 'after']) {
    const value = query.get(name);
    if (value !== null) wanted.set(name, value);
  }
  const state = query.get('state');
  if (state === 'banned') wanted.set('banned', 'true');
  else if (state !== null) wanted.set('state', state);
  if (query.get('own') === 'true') wanted.set('ownLimits', 'true');
  const days = Number(query.get('expires') ?? 0);
  if (days > 0) {
    wanted.set('expiresBefore', new Date(Date.now() + days * dayMs).toISOString());
    // Those that have expired already are another question.
    if (state === null) wanted.set('state', 'valid');
  }
  return wanted;
}

/**
 * Reads one page of keys. The API reads a part of many keys at a time, so this goes on until the page is full.
 * @param query of the page's address
 * @param options onPart: called with what is found so far
 */
export async function searchKeys(
  query: URLSearchParams,
  { signal, onPart }: { signal: AbortSignal; onPart: (found: KeyList) => void },
): Promise<KeyList> {
  const wanted = apiQuery(query);
  let found: KeyList = { items: [], next: null, read: 0, total: 0 };
  for (;;) {
    wanted.set('limit', String(pageSize - found.items.length));
    const part = await api.get<KeyList>(`/api/keys?${wanted}`, signal);
    const { next, total } = part;
    found = { items: [...found.items, ...part.items], next, read: found.read + part.read, total };
    if (next === null || found.items.length >= pageSize) return found;
    onPart(found);
    wanted.set('after', next);
  }
}

/** Reads the names of the plans that a key can be on. Without them, a form goes on with the plan that it knows. */
export async function fetchPlanNames(): Promise<string[]> {
  const { items } = await api.get<Page<KeyPlan>>('/api/key-plans').catch(() => ({ items: [] }));
  return items.map(({ name }) => name);
}
