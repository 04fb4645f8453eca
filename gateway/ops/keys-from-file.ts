import { InvalidArgumentError } from 'commander';
import { CsvError, parse } from 'csv-parse/sync';
import { byWindow, windowNames } from '../limits/windows.ts';
import { parseCsvText } from '../operations/csv-cell.ts';
import { InvalidOperation, ofLine, OperationFailure } from '../operations/invalid-operation.ts';
import { issueBatch } from '../operations/key-batches.ts';
import { assertIssuable, type FurtherApiKey, type IssuedApiKey, type NewApiKey } from '../operations/keys.ts';
import type { Session } from '../operations/session.ts';
import { issuedView } from './key-output.ts';
import { limitArgument } from './limit-options.ts';
import { fieldLayout, printList } from './list-output.ts';
import { nameArgument, scopesArgument, timeArgument } from './options.ts';
import { printError, stopOnClosedPipe } from './output.ts';
import { stopSignal, withProgress } from './progress.ts';
import { withChanges } from './redis-session.ts';
import { readTextFile } from './text-file.ts';

const batchSize = 100;
export const requiredColumns = ['name', 'plan'] as const;
export const optionalColumns = ['expires', 'scopes', ...windowNames] as const;
const columns = [...requiredColumns, ...optionalColumns];
type Row = Partial<Record<(typeof columns)[number], string>>;

/**
 * Issues a key for each line of a CSV file, and prints them as CSV or as a JSON array. All lines are checked before the
 * first key is issued. On SIGINT or SIGTERM, the keys that are being issued are printed as well, before it ends.
 * @throws InvalidOperation that names the line; OperationFailure if it was stopped
 */
export async function issueFromFile(path: string, who: string, json: true | undefined): Promise<void> {
  const { text, sha256 } = await readTextFile(path);
  const wanted = parseFile(text);
  await withChanges(who, async (session) => {
    await checkAll(session, wanted);
    const stop = stopSignal();
    const closedPipe = new AbortController();
    stopOnClosedPipe((reason) => closedPipe.abort(reason));
    let done = 0;
    await withProgress('keys', wanted.length, (onProgress) => {
      const keys = wanted.map(({ key }) => key);
      const source = { fileSha256: sha256, stop: AbortSignal.any([stop, closedPipe.signal]) };
      const pages = issueBatch(session, keys, source);
      const issued = viewPages(pages, session.now, (count) => onProgress((done += count)));
      return printList(json ? 'json' : 'csv', layout, issued);
    }).catch((error: unknown) => {
      if (closedPipe.signal.aborted) return;
      printError(
        `note: ${done} of ${wanted.length} keys were printed: ops audit has their batch, and ` +
          'ops keys list --batch BATCH lists all that were issued',
      );
      throw error;
    });
    if (closedPipe.signal.aborted) {
      throw new OperationFailure(
        `${closedPipe.signal.reason}, so that nobody was shown some keys that were issued: ops audit has their batch and ` +
          'number, and ops keys list --batch BATCH lists them',
      );
    }
    if (done < wanted.length) {
      throw new OperationFailure(
        `stopped by ${stop.reason} after ${done} of ${wanted.length} keys: these were printed, the others were not issued`,
      );
    }
  });
}

interface WantedLine {
  line: number;
  key: NewApiKey;
}

function parseFile(text: string): WantedLine[] {
  let rows: { info: { lines: number }; record: Row }[];
  try {
    rows = parse(text, { columns: checkColumns, bom: true, trim: true, skipEmptyLines: true, info: true });
  } catch (error) {
    if (error instanceof CsvError) throw new InvalidOperation(`not a CSV file: ${error.message}`);
    throw error;
  }
  if (rows.length === 0) throw new InvalidOperation('the file has no lines with keys');
  return rows.map(({ info: { lines: line }, record }) => {
    const { name = '', plan = '', expires = '', scopes = '' } = record;
    if (plan === '') throw new InvalidOperation(`line ${line}: plan is empty`);
    const cell = <T>(column: string, value: string, read: (text: string) => T): T => {
      try {
        return read(value);
      } catch (error) {
        if (!(error instanceof InvalidArgumentError)) throw error;
        throw new InvalidOperation(`line ${line}: ${column} "${value}": ${error.message}`);
      }
    };
    const optional = <T>(column: string, value: string, read: (text: string) => T): T | undefined =>
      value === '' ? undefined : cell(column, value, read);
    return {
      line,
      key: {
        plan,
        ...({
          name: cell('name', parseCsvText(name), nameArgument),
          expiresAt: optional('expires', expires, timeArgument),
          scopes: givenScopes(optional('scopes', scopes, scopesArgument)),
        } satisfies Required<FurtherApiKey>),
        ...byWindow((window) => optional(window, record[window] ?? '', limitArgument)),
      },
    };
  });
}

const givenScopes = (scopes: readonly string[] | 'all' | undefined) =>
  scopes === 'all' ? undefined : scopes;

function checkColumns(header: string[]): string[] {
  const unknown = header.filter((name) => !columns.some((column) => column === name));
  if (unknown.length > 0) {
    throw new InvalidOperation(
      `unknown column ${JSON.stringify(unknown[0])}; valid are ${columns.join(', ')}`,
    );
  }
  const repeated = header.find((name, index) => header.indexOf(name) !== index);
  if (repeated !== undefined) throw new InvalidOperation(`the column ${repeated} is repeated`);
  for (const name of requiredColumns) {
    if (!header.includes(name))
      throw new InvalidOperation(`the first line must be a header with the column ${name}`);
  }
  return header;
}

async function checkAll(session: Session, wanted: readonly WantedLine[]): Promise<void> {
  for (let start = 0; start < wanted.length; start += batchSize) {
    await Promise.all(
      wanted
        .slice(start, start + batchSize)
        .map(({ line, key }) => ofLine(line, assertIssuable(session, key))),
    );
  }
}

async function* viewPages(
  pages: AsyncIterable<IssuedApiKey[]>,
  now: () => number,
  onIssued: (count: number) => void,
) {
  for await (const page of pages) {
    yield page.map((issued) => issuedView(issued, now()));
    onIssued(page.length);
  }
}

const layout = fieldLayout<ReturnType<typeof issuedView>>({
  ID: 'id',
  NAME: 'name',
  PLAN: 'plan',
  KEY: 'key',
});
