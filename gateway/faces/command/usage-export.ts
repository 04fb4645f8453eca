import { Command, Option } from 'commander';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { exportUsage, usageCsv, type UsageRow } from '../../control/usage/usage-record.ts';
import { dayNumberOf } from '../../limits/utc-day.ts';
import { outputFormat } from './list-output.ts';
import { dateArgument, jsonOption, type JsonOption } from './options.ts';
import { print, printJsonArray } from './output.ts';
import { withRedis } from './redis-session.ts';
import { required } from './usage-error.ts';

interface ExportOptions extends JsonOption {
  from?: number;
  to?: number;
  output?: 'csv' | 'json';
}

export function usageExportCommand(): Command {
  return new Command('export')
    .description(
      'use of all customers by day, as CSV or as a JSON array: a row for each customer and day with use',
    )
    .option('--from <date>', 'first UTC date', dateArgument)
    .option('--to <date>', 'last UTC date (default: today)', dateArgument)
    .addOption(new Option('--csv', 'print CSV, which is the default').conflicts('json'))
    .addOption(
      new Option('--output <format>', 'csv, which is the default, or json')
        .choices(['csv', 'json'])
        .conflicts('csv'),
    )
    .addOption(jsonOption())
    .action(async (options: ExportOptions, command: Command) => {
      const from = required(options.from, '--from <date>', command);
      const isJson = outputFormat(options) === 'json';
      await withRedis(async (session) => {
        const to = options.to ?? dayNumberOf(session.now());
        if (from > to) throw new InvalidOperation('--from is after --to');
        const pages = exportUsage(session, { from, to });
        await (isJson ? printJsonArray(pages) : printCsv(pages));
      });
    });
}

async function printCsv(pages: AsyncIterable<readonly UsageRow[]>): Promise<void> {
  for await (const text of usageCsv(pages)) await print(text);
}
