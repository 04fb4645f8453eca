import { html, nothing } from 'lit';
import type { KeyRow } from '../../../control/keys/key-view.ts';
import { formatRelative, relativeOr } from '../format.ts';
import { stateTag } from './state-tag.ts';
import type { Column } from './table.ts';

type ListedKey = Pick<
  KeyRow,
  'id' | 'hint' | 'state' | 'bannedUntil' | 'replacedBy' | 'lastUsedAt' | 'createdAt' | 'expiresAt' | 'scopes'
>;

/** What names a key that is not shown. */
export const hintOf = ({ id, hint }: Pick<ListedKey, 'id' | 'hint'>) => html`<code>${hint || id}</code>`;

/** Whether a key will never work again. */
export const hasEnded = ({ state }: { state: string }) => state === 'revoked' || state === 'expired';

/** Columns of a list of keys, after the name. */
export const keyColumns: readonly Column<ListedKey>[] = [
  ['State', stateCell, '', ({ state }) => state],
  ['Key', hintOf],
  ['Last used', ({ lastUsedAt }) => relativeOr(lastUsedAt, 'never'), 'minor', ({ lastUsedAt }) => lastUsedAt],
  ['Created', ({ createdAt }) => relativeOr(createdAt, '–'), 'minor', ({ createdAt }) => createdAt],
  ['Expires', ({ expiresAt }) => relativeOr(expiresAt, 'never'), 'minor', ({ expiresAt }) => expiresAt],
  ['Scopes', ({ scopes }) => scopes?.join(' ') ?? 'all', 'minor'],
];

function stateCell(key: ListedKey) {
  const { state, bannedUntil, replacedBy } = key;
  return html`${stateTag(state)} ${replacedBy === null || hasEnded(key) ? nothing : 'replaced'}
  ${state === 'banned' && bannedUntil !== null ? html`ends ${formatRelative(bannedUntil)}` : nothing}`;
}
