import { Command } from 'commander';
import { CsvError, parse } from 'csv-parse/sync';
import { findListedKeys, type KeyLine } from '../operations/find-listed-keys.ts';
import { InvalidOperation, OperationFailure } from '../operations/invalid-operation.ts';
import { revokeBatch } from '../operations/key-batches.ts';
import type { KeyFilter, KeyInList } from '../operations/key-filter.ts';
import { keyView } from '../operations/key-view.ts';
import { revokeKey } from '../operations/keys.ts';
import type { Session } from '../operations/session.ts';
import { findStoredKey } from '../operations/stored-keys.ts';
import { confirm, yesOption } from './confirm.ts';
import { addKeyFilterOptions, givenFilter, matchingKeys } from './key-filter-options.ts';
import { printKey } from './key-output.ts';
import { keyLayout } from './keys-list.ts';
import { printList } from './list-output.ts';
import { asOption, idArgument, jsonOption, type ChangeOptions } from './options.ts';
import { printable, printError, printResult } from './output.ts';
import { stopSignal, withProgress } from './progress.ts';
import { redisNow, withChanges, withRedis } from './redis-session.ts';
import { readTextFile } from './text-file.ts';

interface RevokeOptions extends ChangeOptions, KeyFilter {
  from?: string;
  dryRun?: true;
  yes?: true;
}

export function keysRevokeCommand(): Command {
  const command = new Command('revoke')
    .description(
      'refuse a key for good, from its next request on; or those of a list, or those that meet all conditions',
    )
    .argument('[id]', '', idArgument)
    .option('--from <file>', 'keys by id or hint: one a line, or a CSV file with the column id or hint');
  return addKeyFilterOptions(command)
    .option('--dry-run', 'list the keys that would be revoked, and change nothing')
    .addOption(yesOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string | undefined, options: RevokeOptions, command: Command) => {
      const filter = givenFilter(options);
      const ways = [id, options.from, filter].filter((given) => given !== undefined);
      if (ways.length !== 1) {
        command.error('error: give one of: the id of a key, --from, or conditions such as --batch or --plan');
      }
      if (id === undefined) return revokeMany(options, filter);
      if (options.dryRun) command.error('error: --dry-run is for --from and for conditions');
      return revokeOne(id, options);
    });
}

async function revokeOne(id: string, { yes, as, json }: RevokeOptions): Promise<void> {
  if (!yes) await confirmOne(id);
  printKey(await withChanges(as, (session) => revokeKey(session, id)), json);
}

/** @throws InvalidOperation as confirm does, and if there is no such key */
async function confirmOne(id: string): Promise<void> {
  const { key } = await withRedis(({ redis }) => findStoredKey(redis, id));
  const { name, plan, state } = keyView(key, redisNow());
  if (state === 'revoked') return;
  const described = printable(JSON.stringify(name));
  await confirm(
    `Revoke ${id} (${described}, plan ${plan || 'unknown'}) for good, from its next request on?`,
    undefined,
  );
}

/** @throws OperationFailure if it was stopped: running it again goes on */
async function revokeMany(options: RevokeOptions, filter: KeyFilter | undefined): Promise<void> {
  const { from, dryRun, yes, as, json } = options;
  const file = from === undefined ? undefined : await readTextFile(from);
  const lines = file === undefined ? [] : parseKeyLines(file.text);
  const found = await withRedis((session) =>
    file === undefined ? findMatching(session, filter) : findNamed(session, lines),
  );
  const keys = found.filter(({ state }) => state !== 'revoked');
  const alreadyRevoked = found.length - keys.length;
  if (dryRun) return printList(json ? 'json' : 'table', keyLayout, keys);
  if (keys.length > 0) {
    await confirm(`Revoke ${describe(keys)} for good, from their next requests on?`, yes);
    const stop = stopSignal();
    let revoked = 0;
    await withChanges(as, (session) =>
      withProgress('keys', keys.length, async (onProgress) => {
        const source = { fileSha256: file?.sha256, filter, stop };
        try {
          for await (const count of revokeBatch(session, keys, source)) onProgress((revoked += count));
        } catch (error) {
          printError(`note: at least ${revoked} of ${keys.length} keys were revoked; run it again to go on`);
          throw error;
        }
      }),
    );
    if (revoked < keys.length) {
      throw new OperationFailure(
        `stopped by ${stop.reason} after ${revoked} of ${keys.length} keys: the others still work; run it again to go on`,
      );
    }
  }
  printResult({ revoked: keys.length, alreadyRevoked }, json);
  if (found.length === 0) printError('note: no key meets the conditions');
}

function describe(keys: readonly KeyInList[]): string {
  const plans = Map.groupBy(keys, ({ plan }) => plan || 'unknown plan');
  const counts = Array.from(plans, ([plan, ofPlan]) => `${ofPlan.length} ${plan}`).join(', ');
  return `${keys.length} ${keys.length === 1 ? 'key' : 'keys'} (${printable(counts)})`;
}

async function findMatching(session: Session, filter: KeyFilter | undefined): Promise<KeyInList[]> {
  const found: KeyInList[] = [];
  for await (const page of matchingKeys(session, filter)) found.push(...page);
  return found;
}

async function findNamed(session: Session, lines: readonly KeyLine[]): Promise<KeyInList[]> {
  const keys = await findListedKeys(lines, session);
  return keys.map((key) => keyView(key, session.now()));
}

interface KeyRow {
  line: number;
  record: string[];
}

/** @throws InvalidOperation for a file that is neither a list nor a CSV file with the column id or hint */
function parseKeyLines(text: string): KeyLine[] {
  const rows = parseRows(text);
  const [header] = rows;
  const column = ['id', 'hint'].flatMap((name) => {
    const index = header?.record.indexOf(name) ?? -1;
    return index === -1 ? [] : [index];
  })[0];
  const lines = column === undefined ? rows : rows.slice(1);
  if (lines.length === 0) throw new InvalidOperation('the file names no keys');
  return lines.map(({ line, record }) => {
    const text = record[column ?? 0] ?? '';
    if (column === undefined && record.length > 1) {
      throw new InvalidOperation(
        `line ${line}: several columns: the first line must be a header with the column id or hint`,
      );
    }
    if (text === '') throw new InvalidOperation(`line ${line}: there is no id or hint`);
    return { line, text };
  });
}

function parseRows(text: string): KeyRow[] {
  const rows: KeyRow[] = [];
  try {
    parse(text, {
      bom: true,
      trim: true,
      skipEmptyLines: true,
      relaxColumnCount: true,
      onRecord(record: string[], { lines }) {
        rows.push({ line: lines, record });
        return null;
      },
    });
  } catch (error) {
    // Its message repeats the line, which may have a key.
    if (error instanceof CsvError) throw new InvalidOperation(`neither a list nor a CSV file: ${error.code}`);
    throw error;
  }
  return rows;
}
