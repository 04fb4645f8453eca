import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { createApiKeyStore } from '../api-keys/api-key-store.ts';
import { exportLine, importKeys } from '../api-keys/key-transfer.ts';
import { StoreRefusal } from '../store-refusal.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { write, writeFault, writeFields, writeJson } from './output.ts';
import { OpsFailure, type Session, withChanges, withRedis } from './redis-connection.ts';

export function keysExportCommand(): Command {
  return new Command('export')
    .description('print all records as JSON lines, without secrets: hashes in place of keys')
    .addOption(jsonOption())
    .action(async () => {
      const unusable = await withRedis(exportAll);
      if (unusable > 0) throw new OpsFailure(`${unusable} of the records are unusable and not in the export`);
    });
}

/** @returns how many records were left out */
async function exportAll(session: Session): Promise<number> {
  let unusable = 0;
  for await (const page of createApiKeyStore(session).list()) {
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
    throw new StoreRefusal(`can't read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
}
