import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { errorMessage } from '#runtime/error-message.ts';
import { Command } from 'commander';
import { InvalidOperation, OperationFailure } from '../operations/invalid-operation.ts';
import { importKeys, type ExportFile } from '../operations/key-transfer.ts';
import { listKeys } from '../operations/keys.ts';
import type { Session } from '../operations/session.ts';
import { storedCustomerPages } from '../operations/stored-customers.ts';
import { customerLine, exportLine } from '../operations/transfer-lines.ts';
import { redisKeys, type CustomerId } from '../redis/redis-keys.ts';
import { changing } from './changing.ts';
import { jsonOption } from './options.ts';
import { print, printError } from './output.ts';
import { withRedis } from './redis-session.ts';

export function keysExportCommand(): Command {
  return new Command('export')
    .description('all records as JSON lines, with hashes instead of keys')
    .addOption(jsonOption())
    .action(async () => {
      const invalid = await withRedis(exportAll);
      if (invalid > 0) throw new OperationFailure(`${invalid} invalid records were not exported`);
    });
}

/** @returns the number of invalid records, which are not exported */
async function exportAll(session: Session): Promise<number> {
  /** Customers that have an exported key. */
  const withKey = new Set<CustomerId>();
  let invalid = 0;
  /** Redis keys of the records that are invalid. */
  const warned = new Set<string>();
  for await (const page of listKeys(session)) {
    const lines: string[] = [];
    for (const key of page) {
      if (key.outcome === 'record') {
        lines.push(`${exportLine(key)}\n`);
        withKey.add(key.place.customerId);
      } else {
        invalid += 1;
        warned.add(key.where);
        warnOfInvalid(key);
      }
    }
    await print(lines.join(''));
  }
  for await (const page of storedCustomerPages(session.redis)) {
    const lines: string[] = [];
    for (const { id, customer } of page) {
      if (withKey.has(id)) continue;
      if (customer.outcome === 'record') lines.push(`${customerLine(customer.record)}\n`);
      else if (customer.outcome === 'invalid' && !warned.has(redisKeys.customer(id))) {
        invalid += 1;
        warnOfInvalid({ id, issues: customer.issues });
      }
    }
    await print(lines.join(''));
  }
  return invalid;
}

function warnOfInvalid({ id, issues }: { id: string; issues: string[] }): void {
  printError(`warning: the record of ${id} is invalid: ${issues.join('; ')}`);
}

export function keysImportCommand(): Command {
  const command = new Command('import')
    .description('import exported records; present ones are not changed')
    .argument('<file>', 'file of JSON lines, or - for standard input');
  return changing(command, (file) => (session) => importKeys(openExport(file), session));
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
