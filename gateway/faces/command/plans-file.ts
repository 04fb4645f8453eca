import { createReadStream, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessage } from '#runtime/error-message.ts';
import { Command, Option } from 'commander';
import { InvalidOperation, OperationFailure } from '../../control/invalid-operation.ts';
import { exportPlansFile, formatPlansFile } from '../../control/plans/export-plans-file.ts';
import { diffPlansFile, type PlansFileDiff } from '../../control/plans/plans-file-diff.ts';
import { maxFileBytes, parsePlansFile, type PlansFile } from '../../control/plans/plans-file.ts';
import { writeSettings } from '../../control/plans/settings.ts';
import { wholeSettings } from '../../quota/whole-settings.ts';
import { confirm } from './confirm.ts';
import { asOption, jsonOption, type ChangeOptions, type JsonOption } from './options.ts';
import { print, printError, printJson, printWarning } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { formatChanges } from './setting-changes.ts';

const contents = new Intl.ListFormat('en-GB').format(['plans', ...wholeSettings.map(({ title }) => title)]);
const schemaFile = fileURLToPath(new URL('../../control/plans/plans-file.schema.json', import.meta.url));

export function plansExportCommand(): Command {
  return new Command('export')
    .description(`${contents} as a YAML file`)
    .argument('[file]', 'file to write; without it, standard output is written')
    .addOption(jsonOption())
    .action(async (file: string | undefined, { json }: JsonOption) => {
      const exported = await withRedis(exportPlansFile);
      for (const warning of exported.warnings) printError(`warning: ${warning}`);
      if (json) return printJson(exported.file);
      const text = formatPlansFile(exported.file, schemaPathFrom(file === undefined ? '.' : dirname(file)));
      if (file === undefined) return print(text);
      writeTo(file, text);
    });
}

/** The path of the JSON Schema as an editor needs it in a file of this directory. */
function schemaPathFrom(directory: string): string {
  const path = relative(resolve(directory), schemaFile).split(sep).join('/');
  return path.startsWith('.') ? path : `./${path}`;
}

/** Writes in place, since FILE may be a link, a device or mounted alone. What can't be written leaves what was there, as on a full disk. */
function writeTo(file: string, text: string): void {
  let undo: (() => void) | undefined;
  try {
    const present = statSync(file, { throwIfNoEntry: false });
    if (present === undefined) undo = () => rmSync(file, { force: true });
    if (present?.isFile()) {
      const before = readFileSync(file);
      undo = () => writeFileSync(file, before);
    }
    writeFileSync(file, text);
  } catch (error) {
    try {
      undo?.();
    } catch {
      // The first error is the one to report.
    }
    throw new OperationFailure(`can't write ${file}: ${errorMessage(error)}`);
  }
}

interface DiffOptions extends JsonOption {
  prune?: boolean;
}

const pruneOption = () =>
  new Option('--prune', 'remove plans that the file lacks; refused while customers are on them');
const fileArgument = ['<file>', 'YAML file as ops plans export writes it, or - for standard input'] as const;

export function plansDiffCommand(): Command {
  return new Command('diff')
    .description(
      'what applying a file would change; exit code 0 if nothing, 1 if something, 2 for an invalid file',
    )
    .argument(...fileArgument)
    .addOption(pruneOption())
    .addOption(jsonOption())
    .action(async (path: string, { prune = false, json }: DiffOptions) => {
      const file = await readPlansFile(path);
      const diff = await withRedis((session) => diffPlansFile(session, file, prune));
      await printDiff(diff, json);
      if (json) printJson(diffView(diff));
      if (diff.changes.length > 0) process.exitCode = 1;
    });
}

interface ApplyOptions extends DiffOptions, ChangeOptions {
  dryRun?: true;
  yes?: true;
}

export function plansApplyCommand(): Command {
  return new Command('apply')
    .description(`change ${contents} to those of a file`)
    .argument(...fileArgument)
    .option(
      '--dry-run',
      'change nothing; show the changes, and which of the busiest customers are above new limits',
    )
    .addOption(pruneOption())
    .option('--yes', 'do not ask')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (path: string, { dryRun, prune = false, yes, as, json }: ApplyOptions) => {
      const file = await readPlansFile(path);
      const diff = dryRun
        ? await withRedis((session) => diffPlansFile(session, file, prune))
        : await withChanges(as, async (session) => {
            const found = await diffPlansFile(session, file, prune);
            await printDiff(found, json);
            if (found.changes.length === 0) return found;
            await confirmChanges(found, yes);
            // Customers may have been put on a plan that is to be removed while the question was open.
            if (prune && !yes) await diffPlansFile(session, file, prune);
            await writeSettings(session, found.changes);
            return found;
          });
      if (dryRun) await printDiff(diff, json);
      if (json) printJson({ ...diffView(diff), applied: !dryRun && diff.changes.length > 0 });
      else if (diff.changes.length > 0)
        await print(`${count(diff)}${dryRun ? ', not applied' : ' applied'}\n`);
    });
}

/** Asks on a terminal; elsewhere only if a plan would be removed. @throws InvalidOperation if it is refused */
async function confirmChanges(diff: PlansFileDiff, yes: true | undefined): Promise<void> {
  const removed = diff.changes.flatMap(({ target, after }) => (after === null ? [target] : []));
  if (removed.length === 0 && !process.stdin.isTTY) return;
  const verb = removed.length === 1 ? 'removes' : 'remove';
  const removal =
    removed.length === 0 ? '' : `, of which ${removed.length} ${verb} a plan (${removed.join(', ')})`;
  await confirm(`Apply ${count(diff)}${removal}?`, yes);
}

function count({ changes }: PlansFileDiff): string {
  return `${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`;
}

async function printDiff(diff: PlansFileDiff, json: true | undefined): Promise<void> {
  if (diff.warnings.length > 0) printWarning(diff.warnings.join('; '));
  if (json) return;
  await print(formatChanges(diff));
  if (diff.changes.length === 0) await print('no changes\n');
}

function diffView({ changes, unlisted }: PlansFileDiff): object {
  return {
    changes: changes.map(({ name, before, after, customers, above }) => ({
      setting: name,
      before,
      after,
      customers,
      above,
    })),
    unlisted,
  };
}

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
