import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { messageOf } from '../errors.ts';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { StoreRefusal } from '../operations/invalid-operation.ts';
import { exportLine, importKeys } from '../operations/key-transfer.ts';
import { listedKeys, whatIsMissing } from './listed-keys.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { write, writeFault, writeFields, writeJson } from './output.ts';
import { OpsFailure, withChanges, withRedis, type Session } from './redis-connection.ts';

export function keysExportCommand(): Command {
  return new Command('export')
    .description('print all records as JSON lines, without secrets: hashes in place of keys')
    .addOption(jsonOption())
    .action(async () => {
      const unusable = await withRedis(exportAll);
      if (unusable > 0) throw new OpsFailure(`${unusable} of the records are unusable and not in the export`);
    });
}

/**
 * @returns how many records were left out
 * @throws OpsFailure where the index does not tell whether there are more
 */
async function exportAll(session: Session): Promise<number> {
  const store = createApiKeyStore(session);
  let unusable = 0;
  for await (const page of listedKeys(store)) {
    const lines: string[] = [];
    for (const key of page) {
      if (key.outcome === 'record') {
        lines.push(`${exportLine(key)}\n`);
      } else {
        unusable += 1;
        writeFault(`warning: the record of ${key.id} is unusable: ${key.faults.join('; ')}`);
      }
    }
    await write(lines.join(''));
  }
  // Nobody may take what lacks keys for a whole export, and keep it in place of the last one.
  const missing = await whatIsMissing(store, true);
  if (missing !== undefined) throw new OpsFailure(`keys may be missing in the export: ${missing}`);
  return unusable;
}

export function keysImportCommand(): Command {
  return new Command('import')
    .description('put exported records back; what is here already stays as it is')
    .argument('<file>', 'of JSON lines, or - for standard input')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (file: string, { as, json }: ChangeOptions) => {
      const result = await withChanges(as, (session) => importKeys(linesOf(file), session));
      if (json) writeJson(result);
      else writeFields({ ...result });
    });
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  try {
    yield* createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw new StoreRefusal(`can't read ${file}: ${messageOf(error)}`);
  }
}
