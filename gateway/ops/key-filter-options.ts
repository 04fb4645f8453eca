import { Option, type Command } from 'commander';
import {
  createKeySelection,
  listedStates,
  type KeyFilter,
  type KeyInList,
} from '../operations/key-filter.ts';
import { listKeys } from '../operations/keys.ts';
import type { Session } from '../operations/session.ts';
import { nameArgument, timeAgoArgument, timeAheadArgument } from './options.ts';

/** Options that select keys. */
export function addKeyFilterOptions(command: Command): Command {
  return command
    .option('--plan <plan>', 'keys on a plan')
    .addOption(new Option('--state <state>', 'keys in a state').choices(listedStates))
    .option('--name <text>', 'keys with the text in their name, in upper or lower case', nameArgument)
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
  const { plan, state, name, expiresBefore, withOwnLimits, unusedSince } = options;
  const filter = { plan, state, name, expiresBefore, withOwnLimits, unusedSince };
  return Object.values(filter).some((part) => part !== undefined) ? filter : undefined;
}

const maxPage = 500;

/**
 * Pages of the keys that match, oldest first.
 * @throws InvalidOperation for a plan that does not exist, after the last page
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
  const selection = await createKeySelection(session, filter ?? {}, { withLastUse });
  let left = limit;
  const pageSize = filter === undefined ? Math.min(left, maxPage) : maxPage;
  for await (const page of listKeys(session, after, pageSize)) {
    const matching = (await selection.select(page)).slice(0, left);
    yield matching;
    left -= matching.length;
    if (left <= 0) return;
  }
  selection.end();
}
