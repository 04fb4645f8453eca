import { Command, Option } from 'commander';
import { windowNames } from '../limits/windows.ts';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { keyMatcher, type KeyFilter } from '../operations/key-filter.ts';
import { keyStates, keyView } from '../operations/key-view.ts';
import { nearestPlan } from '../operations/plan-names.ts';
import type { Session } from '../operations/session.ts';
import {
  fieldColumns,
  listOptions,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { listedKeys } from './listed-keys.ts';
import { countArgument, idArgument, nameArgument, timeAheadArgument } from './options.ts';
import { printError } from './output.ts';
import { withRedis } from './redis-session.ts';

export type KeyView = ReturnType<typeof keyView>;

export const keyLayout: ListLayout<KeyView> = {
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
  csv: fieldColumns(
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
};

interface KeysListOptions extends KeyFilter, ListOptions {
  limit?: number;
  after?: string;
}

export function keysListCommand(): Command {
  const [output, json] = listOptions();
  return new Command('list')
    .description('keys, oldest first; with several conditions, those that meet all of them')
    .option('--plan <plan>', 'keys on a plan')
    .addOption(new Option('--state <state>', 'keys in a state').choices(keyStates))
    .option('--name <text>', 'keys with the text in their name, in upper or lower case', nameArgument)
    .option(
      '--expires-before <time>',
      'keys that expire before a time, ISO 8601, or within a duration such as 30d',
      timeAheadArgument,
    )
    .option('--with-own-limits', 'keys with a limit of their own')
    .option('--batch <batch>', 'keys of a bulk issue, by the target of its audit entry')
    .option('--limit <n>', 'maximum number of keys', countArgument(100_000_000))
    .option('--after <id>', 'id of the key before the first one', idArgument)
    .addOption(output)
    .addOption(json)
    .action(async (options: KeysListOptions) => {
      const format = outputFormat(options);
      await withRedis(async (session) => {
        let count = 0;
        const counted = async function* () {
          for await (const page of matchingKeys(session, options)) {
            count += page.length;
            yield page;
          }
        };
        await printList(format, keyLayout, counted());
        if (count === 0) await explainPlan(session, options.plan);
      });
    });
}

async function* matchingKeys(
  session: Session,
  { limit, after, ...filter }: KeysListOptions,
): AsyncGenerator<KeyView[]> {
  const matches = keyMatcher(filter, session.now);
  let left = limit ?? Number.POSITIVE_INFINITY;
  const isFiltered = Object.keys(filter).some((name) => name !== 'output' && name !== 'json');
  const pages = listedKeys(createApiKeyStore(session), after, isFiltered ? maxPage : Math.min(left, maxPage));
  for await (const page of pages) {
    const matching = page.filter(matches).slice(0, left);
    yield matching.map((key) => keyView(key, session.now()));
    left -= matching.length;
    if (left <= 0) return;
  }
}

const maxPage = 500;

/** Keys may be on a plan that was deleted, so that only an empty list shows that a name was mistyped. */
async function explainPlan({ redis }: Session, plan: string | undefined): Promise<void> {
  const near = plan === undefined ? undefined : await nearestPlan(redis, plan);
  if (near !== undefined) printError(`note: there is no plan named "${plan}"; did you mean "${near}"?`);
}
