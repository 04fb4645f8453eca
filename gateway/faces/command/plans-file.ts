import { createReadStream } from 'node:fs';
import { errorMessage } from '#runtime/error-message.ts';
import { Command } from 'commander';
import { stringify } from 'yaml';
import { changedFields } from '../../control/audit/audit-log.ts';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import {
  diffPlansFile,
  exportPlansFile,
  maxFileBytes,
  parsePlansFile,
  type PlansFile,
} from '../../control/plans/plans-file.ts';
import { writeSettings, type SettingChange } from '../../control/plans/settings.ts';
import { wholeSettings } from '../../quota/default-settings.ts';
import { asOption, jsonOption, type ChangeOptions, type JsonOption } from './options.ts';
import { formatFields, print, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

const contents = new Intl.ListFormat('en-GB').format(['plans', ...wholeSettings.map(({ title }) => title)]);

export function plansExportCommand(): Command {
  return new Command('export')
    .description(`print ${contents} as a YAML file`)
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const file = await withRedis(exportPlansFile);
      if (json) printJson(file);
      else await print(stringify(file));
    });
}

const fileArgument = ['<file>', 'YAML file as ops plans export prints it, or - for standard input'] as const;

export function plansDiffCommand(): Command {
  return new Command('diff')
    .description(
      'what applying a file would change; exit code 0 if nothing, 1 if something, 2 for an invalid file',
    )
    .argument(...fileArgument)
    .addOption(jsonOption())
    .action(async (path: string, { json }: JsonOption) => {
      const file = await readPlansFile(path);
      const changes = await withRedis((session) => diffPlansFile(session, file));
      if (json) printJson({ changes: viewOf(changes) });
      else await printChanges(changes, '');
      if (changes.length > 0) process.exitCode = 1;
    });
}

export function plansApplyCommand(): Command {
  return new Command('apply')
    .description(`change ${contents} to those of a file; what the file lacks stays as it is`)
    .argument(...fileArgument)
    .option('--dry-run', 'change nothing; show the changes')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (path: string, { dryRun, as, json }: ChangeOptions & { dryRun?: true }) => {
      const file = await readPlansFile(path);
      const changes = dryRun
        ? await withRedis((session) => diffPlansFile(session, file))
        : await withChanges(as, async (session) => {
            const found = await diffPlansFile(session, file);
            await writeSettings(session, found);
            return found;
          });
      if (json) printJson({ changes: viewOf(changes), applied: !dryRun && changes.length > 0 });
      else await printChanges(changes, dryRun ? ', not applied' : ' applied');
    });
}

/** A line for each setting, and below it one for each field that differs. @param outcome what has become of the changes; empty to leave their number out */
async function printChanges(changes: readonly SettingChange[], outcome: string) {
  for (const { name, before, after } of changes)
    await print(
      `${[before === null ? `${name}  new` : name, ...formatFields(changedFields(before, after), '  ')].join('\n')}\n`,
    );
  if (changes.length === 0) await print('no changes\n');
  else if (outcome !== '')
    await print(`${changes.length} ${changes.length === 1 ? 'change' : 'changes'}${outcome}\n`);
}

const viewOf = (changes: readonly SettingChange[]) =>
  changes.map(({ name, before, after }) => ({ setting: name, before, after }));

/** @throws InvalidOperation if it can't be read, or is invalid */
async function readPlansFile(path: string): Promise<PlansFile> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    const input: AsyncIterable<Uint8Array> = path === '-' ? process.stdin : createReadStream(path);
    for await (const chunk of input) {
      chunks.push(chunk);
      bytes += chunk.length;
      // What is too large may also have no end. The parser says so.
      if (bytes > maxFileBytes) break;
    }
  } catch (error) {
    throw new InvalidOperation(`can't read ${path}: ${errorMessage(error)}`);
  }
  return parsePlansFile(Buffer.concat(chunks), path === '-' ? 'standard input' : path);
}
