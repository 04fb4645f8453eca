import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { createApiKeyStore } from '../api-keys/api-key-store.ts';
import { exportLine, importKeys } from '../api-keys/key-transfer.ts';
import { StoreRefusal } from '../api-keys/store-refusal.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { write, writeFields, writeJson } from './output.ts';
import { nothingChanges, withChanges, withRedis } from './redis-connection.ts';

const now = () => Date.now();

export function keysExportCommand(): Command {
  return new Command('export')
    .description('print all records as JSON lines, without secrets: hashes in place of keys')
    .addOption(jsonOption())
    .action(async () => {
      await withRedis(async (redis) => {
        const store = createApiKeyStore({ redis, audit: nothingChanges, now });
        for await (const page of store.list()) {
          await write(page.map((key) => `${exportLine(key)}\n`).join(''));
        }
      });
    });
}

export function keysImportCommand(): Command {
  return new Command('import')
    .description('put exported records back; what is here already stays as it is')
    .argument('<file>', 'of JSON lines, or - for standard input')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (file: string, { as, json }: ChangeOptions) => {
      const result = await withChanges(as, (changing) => importKeys(linesOf(file), { ...changing, now }));
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
