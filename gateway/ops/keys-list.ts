import { Command, Option } from 'commander';
import { windowNames } from '../limits/windows.ts';
import type { KeyFilter, KeyInList } from '../operations/key-filter.ts';
import { addKeyFilterOptions, givenFilter, matchingKeys } from './key-filter-options.ts';
import { temporaryText } from './key-store.ts';
import {
  fieldColumns,
  listOptions,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { countArgument, idArgument } from './options.ts';
import { withRedis } from './redis-session.ts';

export const keyLayout: ListLayout<KeyInList> = {
  headings: ['ID', 'KEY', 'NAME', 'PLAN', 'MINUTE', 'DAY', 'STATE', 'CREATED', 'EXPIRES'],
  row: ({ id, hint, name, plan, minute, day, state, createdAt, expiresAt }) => [
    id,
    hint,
    name,
    plan,
    minute,
    day,
    state,
    createdAt,
    expiresAt,
  ],
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
      'batch',
      'rev',
    ),
    temporary: temporaryText,
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
  const [output, json] = listOptions();
  const command = new Command('list').description(
    'keys, oldest first; with several conditions, those that meet all of them',
  );
  return addKeyFilterOptions(command)
    .addOption(
      new Option(
        '--sort <order>',
        'the key that was used longest ago first; reads all of them before',
      ).choices(['last-used']),
    )
    .option('--limit <n>', 'maximum number of keys', countArgument(100_000_000))
    .option('--after <id>', 'id of the key before the first one', idArgument)
    .addOption(output)
    .addOption(json)
    .action(async (options: KeysListOptions) => {
      const format = outputFormat(options);
      const { sort, limit, after, unusedSince } = options;
      const layout = sort === undefined && unusedSince === undefined ? keyLayout : usedLayout;
      await withRedis((session) => {
        const filter = givenFilter(options);
        if (sort === undefined)
          return printList(format, layout, matchingKeys(session, filter, { limit, after }));
        return printList(
          format,
          layout,
          byLastUse(matchingKeys(session, filter, { after, withLastUse: true }), limit),
        );
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
