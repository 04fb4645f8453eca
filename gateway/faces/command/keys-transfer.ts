import { isUtf8 } from 'node:buffer';
import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { errorMessage } from '#runtime/error-message.ts';
import { Command } from 'commander';
import { storedCustomerPages } from '../../control/customers/stored-customers.ts';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { importKeys, type ExportFile } from '../../control/keys/key-transfer.ts';
import { storedKeyPages } from '../../control/keys/stored-keys.ts';
import { customerLine, exportLine } from '../../control/keys/transfer-lines.ts';
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
    await print(others.map((customer) => `${customerLine(customer)}\n`).join(''));
  }
}

export function keysImportCommand(): Command {
  return new Command('import')
    .description('import exported records; present ones are not changed')
    .argument('<file>', 'file of JSON lines, or - for standard input')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (file: string, { as, json }: ChangeOptions) =>
      printResult(await withChanges(as, (session) => importKeys(openExport(file), session)), json),
    );
}

function openExport(file: string): ExportFile {
  const hash = createHash('sha256');
  return { lines: linesOf(file, hash), sha256: () => hash.digest('hex') };
}

/** Lines end at LF alone: a text of a record may hold U+2028. */
async function* linesOf(file: string, hash: Hash): AsyncGenerator<string> {
  const input = file === '-' ? process.stdin : createReadStream(file);
  let line = 0;
  let rest = '';
  try {
    // In Latin-1 each byte is a character, so that no chunk ends within one.
    for await (const chunk of input.setEncoding('latin1')) {
      hash.update(String(chunk), 'latin1');
      const lines = `${rest}${chunk}`.split('\n');
      rest = lines.pop() ?? '';
      for (const bytes of lines) yield decode(bytes);
    }
    yield decode(rest);
  } catch (error) {
    if (error instanceof InvalidOperation) throw error;
    throw new InvalidOperation(`can't read ${file}: ${errorMessage(error)}`);
  }

  function decode(latin1: string): string {
    line += 1;
    const bytes = Buffer.from(latin1, 'latin1');
    if (!isUtf8(bytes))
      throw new InvalidOperation(`line ${line} is not UTF-8: save the file with this encoding`);
    return bytes.toString();
  }
}
