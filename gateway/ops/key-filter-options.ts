import { Option, type Command } from 'commander';
import {
  createKeySelection,
  listedStates,
  type KeyFilter,
  type KeyInList,
} from '../operations/key-filter.ts';
import { listKeys } from '../operations/keys.ts';
import { assertSearchable } from '../operations/pasted-key.ts';
import { findExactly } from '../operations/search-keys.ts';
import type { Session } from '../operations/session.ts';
import { keyTextArgument, timeAgoArgument, timeAheadArgument } from './options.ts';

/** Options that select keys. */
export function addKeyFilterOptions(command: Command): Command {
  return command
    .option('--plan <plan>', 'keys on a plan')
    .addOption(new Option('--state <state>', 'keys in a state').choices(listedStates))
    .option(
      '--search <text>',
      'keys by an id, a SHA-256, a hint such as api_ab12, or a part of a name or an id',
      keyTextArgument,
    )
    .option(
      '--expires-before <time>',
      'keys that expire before a time, ISO 8601, or within a duration such as 30d',
      timeAheadArgument,
    )
    .option('--with-own-limits', 'keys with a limit of their own')
    .option(
      '--unused-since <time>',
      'keys last used before a time, ISO 8601, or a duration ago such as 90d, or never',
      timeAgoArgument,
    );
}

/** The filter among the options of a command; undefined without one. */
export function givenFilter(options: KeyFilter): KeyFilter | undefined {
  const { plan, state, search, expiresBefore, withOwnLimits, unusedSince } = options;
  const filter = { plan, state, search, expiresBefore, withOwnLimits, unusedSince };
  return Object.values(filter).some((part) => part !== undefined) ? filter : undefined;
}

const maxPage = 500;

/**
 * Pages of the keys that match, oldest first.
 * @throws InvalidOperation for a plan that does not exist, after the last page, and for a text that no key can have
 */
export async function* matchingKeys(
  session: Session,
  filter: KeyFilter | undefined,
  {
    limit = Number.POSITIVE_INFINITY,
    after,
    withLastUse = false,
  }: { limit?: number | undefined; after?: string | undefined; withLastUse?: boolean } = {},
): AsyncGenerator<KeyInList[]> {
  const { search = '', ...others } = filter ?? {};
  assertSearchable(search);
  const exact = search === '' ? undefined : await findExactly(search, session);
  const wanted = exact === undefined ? (filter ?? {}) : others;
  const selection = await createKeySelection(session, wanted, { withLastUse });
  let left = limit;
  const pageSize = filter === undefined ? Math.min(left, maxPage) : maxPage;
  const pages = exact === undefined ? listKeys(session, after, pageSize) : [[exact]];
  for await (const page of pages) {
    const matching = (await selection.select(page)).slice(0, left);
    yield matching;
    left -= matching.length;
    if (left <= 0) return;
  }
  selection.end();
}
