import { api } from './api.ts';

export type KeyRow = {
  id: string;
  name: string;
  plan: string;
  hint: string;
  state: string;
  createdAt: string;
  expiresAt: string | null;
  minute: number | null;
  day: number | null;
  usedToday: number;
  dayLimit: number | null;
  bannedUntil: string | null;
};
export type Found = { items: KeyRow[]; next: string | null; read: number; total: number };

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
  { signal, onPart }: { signal: AbortSignal; onPart: (found: Found) => void },
): Promise<Found> {
  const wanted = apiQuery(query);
  let found: Found = { items: [], next: null, read: 0, total: 0 };
  for (;;) {
    wanted.set('limit', String(pageSize - found.items.length));
    const part: Found = await api.get(`/api/keys?${wanted}`, signal);
    const { next, total } = part;
    found = { items: [...found.items, ...part.items], next, read: found.read + part.read, total };
    if (next === null || found.items.length >= pageSize) return found;
    onPart(found);
    wanted.set('after', next);
  }
}
