import { setTimeout as sleep } from 'node:timers/promises';
import { nearestName } from '#runtime/nearest-name.ts';
import { Command, InvalidArgumentError } from 'commander';
import {
  auditTargets,
  changedFields,
  nameTargets,
  readAudit,
  readAuditNewer,
  readAuditPages,
  type AuditEntry,
  type AuditFilter,
  type NamedEntry,
} from '../../control/audit/audit-log.ts';
import type { Session } from '../../control/session.ts';
import { auditActions } from '../../platform/redis/audit-actions.ts';
import type { RedisClient } from '../../platform/redis/redis-client.ts';
import {
  addListOptions,
  csvHeader,
  csvLine,
  fieldColumns,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
  type OutputFormat,
} from './list-output.ts';
import { countArgument, nameArgument, timeAgoArgument } from './options.ts';
import { print, printable, printJson } from './output.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';

interface AuditOptions extends ListOptions {
  action?: string;
  who?: string;
  target?: string;
  since?: Date;
  until?: Date;
  count?: number;
  follow?: true;
}

const defaultCount = 50;
const followMs = 500;

export function auditCommand(): Command {
  const command = new Command('audit')
    .description('changes by operators, oldest first; with several conditions, those that meet all of them')
    .option('--action <action>', 'action or its beginning, such as keys or plans.set', actionArgument)
    .option('--who <who>', 'name of the person', nameArgument)
    .option(
      '--target <target>',
      'id of a customer, with its keys, or of a key, with the bulk issue that it is from, or name of a plan',
    )
    .option('--since <time>', 'not before a time, ISO 8601, or a duration ago such as 2h', timeAgoArgument)
    .option('--until <time>', 'before a time, or a duration ago', timeAgoArgument)
    .option(
      '--count <n>',
      `newest entries (default: ${defaultCount}; all with --since)`,
      countArgument(100_000),
    )
    .option('--follow', 'print new entries until Ctrl-C');
  return addListOptions(command).action(async (options: AuditOptions) => {
    const { follow, since, until } = options;
    if (follow && until !== undefined) command.error('error: --follow has no end: leave out --until');
    if (since !== undefined && until !== undefined && since >= until) {
      command.error('error: --since is not before --until, so there are no entries between them');
    }
    const format = outputFormat(options);
    await withRedis(async (session) => {
      const pages = auditPages(session.redis, await readFilter(options, session), options.count);
      if (follow) await followEntries(session, () => readFilter(options, session), pages, format);
      else await printList(format, layout, namedPages(pages, session));
    });
  });
}

/** Refuses what no entry can have, since an empty list would be taken for the answer that nobody did it. */
function actionArgument(text: string): string {
  const beginning = nameArgument(text);
  if (auditActions.some((action) => action.startsWith(beginning))) return beginning;
  const groups = new Set(auditActions.map((action) => action.replace(/\..+/, '')));
  const near = nearestName(beginning, [...groups, ...auditActions]);
  const hint = near === undefined ? `They begin with ${[...groups].join(', ')}.` : `(Did you mean ${near}?)`;
  throw new InvalidArgumentError(`There is no such action. ${hint}`);
}

async function readFilter({ target, ...rest }: AuditOptions, session: Session): Promise<AuditFilter> {
  const { action, who, since, until } = rest;
  const targets = target === undefined ? undefined : await auditTargets(target, session);
  return { action, who, targets, since, until };
}

async function* namedPages(
  pages: AsyncIterable<AuditEntry[]>,
  session: Session,
): AsyncGenerator<NamedEntry[]> {
  for await (const page of pages) yield nameTargets(page, session);
}

async function* auditPages(
  redis: RedisClient,
  filter: AuditFilter,
  count: number | undefined,
): AsyncGenerator<AuditEntry[]> {
  if (count === undefined && filter.since !== undefined) yield* readAuditPages(redis, filter);
  else yield await readAudit(redis, count ?? defaultCount, filter);
}

/**
 * Prints each entry on a line of its own: there is no end.
 * @param readFilter read again for new entries: a customer may have got a key since
 */
async function followEntries(
  session: Session,
  readFilter: () => Promise<AuditFilter>,
  pages: AsyncIterable<AuditEntry[]>,
  format: OutputFormat,
): Promise<never> {
  let last = '0-0';
  if (format === 'csv') await print(csvHeader(layout));
  for await (const page of pages) {
    for (const entry of await nameTargets(page, session)) await printEntry(entry, format);
    last = page.at(-1)?.id ?? last;
  }
  for (;;) {
    const after = last;
    const { named, latest } = await retryWhileUnavailable(async () => {
      const { entries, latest } = await readAuditNewer(session.redis, after, readFilter);
      return { named: await nameTargets(entries, session), latest };
    });
    for (const entry of named) await printEntry(entry, format);
    if (latest === after) await sleep(followMs);
    last = latest;
  }
}

async function printEntry(entry: NamedEntry, format: OutputFormat): Promise<void> {
  if (format === 'json') return printJson(entry);
  await print(format === 'csv' ? csvLine(layout, entry) : `${row(entry).map(printable).join('  ')}\n`);
}

const layout: ListLayout<NamedEntry> = {
  headings: ['AT', 'WHO', 'ACTION', 'TARGET', 'CHANGE'],
  row,
  csv: {
    ...fieldColumns<NamedEntry>('id', 'at', 'who', 'action', 'target'),
    before: ({ before }) => jsonText(before),
    after: ({ after }) => jsonText(after),
    notMade: ({ notMade }) => notMade,
    reason: ({ reason }) => reason,
    ...fieldColumns<NamedEntry>('targetName', 'targetHint'),
  },
};

function jsonText(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

function row(entry: NamedEntry): string[] {
  const { at, who, action, target, before, after, notMade, reason, targetName, targetHint } = entry;
  const change = describeChange(before, after);
  const name = [targetName, targetHint].filter((part) => part !== null && part !== '').join(', ');
  return [
    at,
    who,
    action,
    name === '' ? target : `${target} (${name})`,
    [notMade === undefined ? change : `not made: ${change}`, reason === undefined ? '' : `reason: ${reason}`]
      .filter((part) => part !== '')
      .join('; '),
  ];
}

/** Describes the changed fields, as in `plan: "free" -> "pro"`. */
function describeChange(before: unknown, after: unknown): string {
  return changedFields(before, after)
    .map(({ field, before, after }) => `${field}: ${text(before)} -> ${text(after)}`)
    .join(', ');
}

function text(value: unknown): string {
  return value === undefined || value === null ? '-' : JSON.stringify(value);
}
