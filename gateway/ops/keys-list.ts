import { Command } from 'commander';
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

interface KeysListOptions extends KeyFilter, ListOptions {
  limit?: number;
  after?: string;
}

export function keysListCommand(): Command {
  const [output, json] = listOptions();
  const command = new Command('list').description(
    'keys, oldest first; with several conditions, those that meet all of them',
  );
  return addKeyFilterOptions(command)
    .option('--limit <n>', 'maximum number of keys', countArgument(100_000_000))
    .option('--after <id>', 'id of the key before the first one', idArgument)
    .addOption(output)
    .addOption(json)
    .action(async (options: KeysListOptions) => {
      const format = outputFormat(options);
      await withRedis((session) =>
        printList(format, keyLayout, matchingKeys(session, givenFilter(options), options)),
      );
    });
}
