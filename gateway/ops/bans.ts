import { Command } from 'commander';
import { addBan, liftBan, listBans, type ActiveBan } from '../operations/bans.ts';
import type { Session } from '../operations/session.ts';
import {
  fieldColumns,
  listOptions,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import {
  asOption,
  durationArgument,
  idArgument,
  jsonOption,
  reasonArgument,
  type ChangeOptions,
} from './options.ts';
import { printFields, printJson } from './output.ts';
import { createProgressLine } from './progress-line.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { required } from './usage-error.ts';

export function bansCommand(): Command {
  return new Command('bans')
    .description('bans of API keys')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(liftCommand());
}

const layout: ListLayout<ActiveBan> = {
  headings: ['ID', 'NAME', 'PLAN', 'ENDS', 'REASON'],
  row: ({ id, name, plan, endsAt, reason }) => [id, name, plan, endsAt, reason],
  csv: fieldColumns('id', 'name', 'plan', 'endsAt', 'reason'),
};

function listCommand(): Command {
  const [output, json] = listOptions();
  return new Command('list')
    .description('active bans, soonest to expire first, and then those that were made with redis-cli')
    .addOption(output)
    .addOption(json)
    .action(async (options: ListOptions) => {
      const format = outputFormat(options);
      await withRedis((session) => printList(format, layout, listedBans(session)));
    });
}

/** Shows its progress on a terminal: bans that were made with redis-cli are found by a scan. */
async function* listedBans(session: Session): AsyncGenerator<ActiveBan[]> {
  const progress = createProgressLine('Redis keys');
  const bans = listBans(session, ({ scanned, total }) => progress.update(scanned, total));
  try {
    for await (const page of bans) {
      if (page.length === 0) continue;
      progress.clear();
      yield page;
    }
  } finally {
    progress.clear();
  }
}

interface AddOptions extends ChangeOptions {
  for?: number;
  reason?: string;
}

function addCommand(): Command {
  return new Command('add')
    .description('ban a key from its next request on')
    .argument('<id>', '', idArgument)
    .option('--for <duration>', 'length, such as 15m, 24h or 7d', durationArgument)
    .option('--reason <text>', 'reason; the client reads it in its responses', reasonArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, options: AddOptions, command: Command) => {
      const { as, json } = options;
      const durationMs = required(options.for, '--for <duration>', command);
      const reason = required(options.reason, '--reason <text>', command);
      printBan(await withChanges(as, (session) => addBan(session, id, durationMs, reason)), json);
    });
}

function liftCommand(): Command {
  return new Command('lift')
    .description('end a ban within a second, and forget its strikes')
    .argument('<id>', '', idArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { as, json }: ChangeOptions) => {
      printBan(await withChanges(as, (session) => liftBan(session, id)), json);
    });
}

function printBan(ban: ActiveBan, json: true | undefined): void {
  if (json) printJson(ban);
  else printFields({ ...ban });
}
