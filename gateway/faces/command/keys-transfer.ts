import { createReadStream } from 'node:fs';
import { errorMessage } from '#runtime/error-message.ts';
import { Command } from 'commander';
import { storedCustomerPages } from '../../control/customers/stored-customers.ts';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { exportLine, importKeys } from '../../control/keys/key-transfer.ts';
import { storedKeyPages } from '../../control/keys/stored-keys.ts';
import type { Session } from '../../control/session.ts';
import type { CustomerId } from '../../platform/redis/redis-keys.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { print, printResult } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

export function keysExportCommand(): Command {
  return new Command('export')
    .description('all records as JSON lines, with hashes instead of keys')
    .addOption(jsonOption())
    .action(() => withRedis(exportAll));
}

async function exportAll(session: Session): Promise<void> {
  /** Customers that have an exported key. */
  const withKey = new Set<CustomerId>();
  for await (const page of storedKeyPages(session.redis)) {
    await print(page.map((key) => `${exportLine(key)}\n`).join(''));
    for (const { place } of page) withKey.add(place.customerId);
  }
  for await (const page of storedCustomerPages(session.redis)) {
    const others = page.filter(({ id }) => !withKey.has(id));
    await print(others.map((customer) => `${exportLine({ customer })}\n`).join(''));
  }
}

export function keysImportCommand(): Command {
  return new Command('import')
    .description('import exported records; present ones are not changed')
    .argument('<file>', 'file of JSON lines, or - for standard input')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (file: string, { as, json }: ChangeOptions) =>
      printResult(await withChanges(as, (session) => importKeys(linesOf(file), session)), json),
    );
}

/** Lines end at LF alone: a text of a record may hold U+2028. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input: AsyncIterable<Uint8Array> = file === '-' ? process.stdin : createReadStream(file);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  try {
    for await (const chunk of input) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
      rest = lines.pop() ?? '';
      yield* lines;
    }
    yield rest + decoder.decode();
  } catch (error) {
    throw new InvalidOperation(`can't read ${file}: ${errorMessage(error)}`);
  }
}
