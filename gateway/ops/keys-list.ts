import { Command, Option } from 'commander';
import { windowNames } from '../limits/windows.ts';
import type { KeyFilter, KeyInList } from '../operations/key-filter.ts';
import { addKeyFilterOptions, givenFilter, matchingKeys } from './key-filter-options.ts';
import {
  addListOptions,
  fieldColumns,
  fieldLayout,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { countArgument, idArgument } from './options.ts';
import { withRedis } from './redis-session.ts';

export const keyLayout: ListLayout<KeyInList> = {
  ...fieldLayout<KeyInList>({
    ID: 'id',
    KEY: 'hint',
    NAME: 'name',
    PLAN: 'plan',
    MINUTE: 'minute',
    DAY: 'day',
    STATE: 'state',
    CREATED: 'createdAt',
    EXPIRES: 'expiresAt',
  }),
  csv: {
    ...fieldColumns(
      'id',
      'customerId',
      'plan',
      'name',
      'hint',
      ...windowNames,
      'state',
      'createdAt',
      'expiresAt',
      'revokedAt',
      'replaces',
      'replacedBy',
      'rev',
    ),
    ...fieldColumns('scopes'),
  },
};

/** With the time of the last use. */
const usedLayout: ListLayout<KeyInList> = {
  headings: [...keyLayout.headings, 'LAST USED'],
  row: (key) => [...keyLayout.row(key), key.lastUsedAt],
  csv: { ...keyLayout.csv, lastUsedAt: ({ lastUsedAt }) => lastUsedAt },
};

interface KeysListOptions extends KeyFilter, ListOptions {
  sort?: 'last-used';
  limit?: number;
  after?: string;
}

export function keysListCommand(): Command {
  const command = addKeyFilterOptions(
    new Command('list').description(
      'keys, oldest first; with several conditions, those that meet all of them',
    ),
  )
    .addOption(
      new Option(
        '--sort <order>',
        'the key that was used longest ago first; reads all of them before',
      ).choices(['last-used']),
    )
    .option('--limit <n>', 'maximum number of keys', countArgument(100_000_000))
    .option('--after <id>', 'id of the key before the first one', idArgument);
  return addListOptions(command).action(async (options: KeysListOptions) => {
    const format = outputFormat(options);
    const { sort, limit, after, unusedSince } = options;
    const layout = sort === undefined && unusedSince === undefined ? keyLayout : usedLayout;
    const filter = givenFilter(options);
    await withRedis((session) => {
      const keys =
        sort === undefined
          ? matchingKeys(session, filter, { limit, after })
          : byLastUse(matchingKeys(session, filter, { after, withLastUse: true }), limit);
      return printList(format, layout, keys);
    });
  });
}

async function* byLastUse(
  pages: AsyncIterable<readonly KeyInList[]>,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<KeyInList[]> {
  const keys: KeyInList[] = [];
  for await (const page of pages) keys.push(...page);
  yield keys.toSorted((one, other) => lastUse(one).localeCompare(lastUse(other))).slice(0, limit);
}

const lastUse = ({ lastUsedAt }: KeyInList) => lastUsedAt ?? '';
