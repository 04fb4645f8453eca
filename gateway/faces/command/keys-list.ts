import { Command, Option } from 'commander';
import { listKeys, type KeyConditions, type ListedKey } from '../../control/keys/key-list.ts';
import { listedStates } from '../../control/keys/key-view.ts';
import { windowNames } from '../../limits/windows.ts';
import {
  addListOptions,
  fieldColumns,
  fieldLayout,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { countArgument, idArgument, keyTextArgument, timeAgoArgument, timeAheadArgument } from './options.ts';
import { withRedis } from './redis-session.ts';

export const keyLayout: ListLayout<ListedKey> = {
  ...fieldLayout<ListedKey>({
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
const usedLayout: ListLayout<ListedKey> = {
  headings: [...keyLayout.headings, 'LAST USED'],
  row: (key) => [...keyLayout.row(key), key.lastUsedAt],
  csv: { ...keyLayout.csv, lastUsedAt: ({ lastUsedAt }) => lastUsedAt },
};

interface KeysListOptions extends Omit<KeyConditions, 'ownLimits'>, ListOptions {
  withOwnLimits?: true;
  limit?: number;
  after?: string;
}

export function keysListCommand(): Command {
  const command = new Command('list')
    .description('keys, oldest first; with several conditions, those that meet all of them')
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
    )
    .option('--limit <n>', 'maximum number of keys', countArgument(100_000_000))
    .option('--after <id>', 'id of the key before the first one', idArgument);
  return addListOptions(command).action(async (options: KeysListOptions) => {
    const format = outputFormat(options);
    const { plan, state, search, expiresBefore, withOwnLimits: ownLimits, unusedSince } = options;
    const conditions = { plan, state, search, expiresBefore, ownLimits, unusedSince };
    const layout = unusedSince === undefined ? keyLayout : usedLayout;
    await withRedis((session) => printList(format, layout, listKeys(session, conditions, options)));
  });
}
