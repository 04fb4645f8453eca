import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { errorMessage } from '#runtime/error-message.ts';
import { Command } from 'commander';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { exportLine, importKeys, type ExportFile } from '../operations/key-transfer.ts';
import { detectMissingKeys } from '../operations/missing-keys.ts';
import { OperationFailure } from '../operations/operation-failure.ts';
import type { Session } from '../operations/session.ts';
import { listedKeys } from './listed-keys.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { print, printError, printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

export function keysExportCommand(): Command {
  return new Command('export')
    .description('all records as JSON lines, with hashes instead of keys')
    .addOption(jsonOption())
    .action(async () => {
      const invalid = await withRedis(exportAll);
      if (invalid > 0) throw new OperationFailure(`${invalid} invalid records were not exported`);
    });
}

/**
 * @returns the number of invalid records, which are not exported
 * @throws OperationFailure if the index may lack keys
 */
async function exportAll(session: Session): Promise<number> {
  const store = createApiKeyStore(session);
  let invalid = 0;
  for await (const page of listedKeys(store)) {
    const lines: string[] = [];
    for (const key of page) {
      if (key.outcome === 'record') {
        lines.push(`${exportLine(key)}\n`);
      } else {
        invalid += 1;
        printError(`warning: the record of ${key.id} is invalid: ${key.issues.join('; ')}`);
      }
    }
    await print(lines.join(''));
  }
  // An incomplete export must fail, so that nobody keeps it instead of the last complete one.
  const missing = await detectMissingKeys(store, true);
  if (missing !== undefined) throw new OperationFailure(`keys may be missing in the export: ${missing}`);
  return invalid;
}

export function keysImportCommand(): Command {
  return new Command('import')
    .description('import exported records; present ones are not changed')
    .argument('<file>', 'file of JSON lines, or - for standard input')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (file: string, { as, json }: ChangeOptions) => {
      const result = await withChanges(as, (session) => importKeys(openExport(file), session));
      if (json) printJson(result);
      else printFields({ ...result });
    });
}

function openExport(file: string): ExportFile {
  const hash = createHash('sha256');
  return { lines: linesOf(file, hash), sha256: () => hash.digest('hex') };
}

async function* linesOf(file: string, hash: Hash): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  input.on('data', (chunk: Buffer | string) => hash.update(chunk));
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw new InvalidOperation(`can't read ${file}: ${errorMessage(error)}`);
  }
}
