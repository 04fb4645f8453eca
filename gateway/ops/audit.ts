import { Command } from 'commander';
import { readAudit, readAuditAfter, type AuditEntry } from '../operations/audit-log.ts';
import { countArgument, jsonOption, type JsonOption } from './options.ts';
import { printable, printJson, printTable } from './output.ts';
import { retryWhileUnavailable, withRedis } from './redis-session.ts';

interface AuditOptions extends JsonOption {
  count: number;
  follow?: true;
}

export function auditCommand(): Command {
  return new Command('audit')
    .description('changes by operators, oldest first')
    .option('--count <n>', 'number of newest entries', countArgument(100_000), 50)
    .option('--follow', 'print new entries until Ctrl-C')
    .addOption(jsonOption())
    .action(async ({ count, follow, json }: AuditOptions) => {
      await withRedis(async ({ redis }) => {
        const entries = await readAudit(redis, count);
        if (follow === undefined) {
          if (json) printJson(entries);
          else printTable(['AT', 'WHO', 'ACTION', 'TARGET', 'CHANGE'], entries.map(row));
          return;
        }
        for (const entry of entries) printEntry(entry, json);
        for (let last = entries.at(-1)?.id ?? '0-0'; ;) {
          const after = last;
          const next = await retryWhileUnavailable(() => readAuditAfter(redis, after));
          for (const entry of next) printEntry(entry, json);
          last = next.at(-1)?.id ?? last;
        }
      });
    });
}

/** Prints an entry on a line of its own, for --follow. */
function printEntry(entry: AuditEntry, json: true | undefined): void {
  if (json) printJson(entry);
  else process.stdout.write(`${row(entry).map(printable).join('  ')}\n`);
}

function row({ at, who, action, target, before, after }: AuditEntry): string[] {
  return [at, who, action, target, describeChange(before, after)];
}

/** Describes the changed fields, as in `plan: "free" -> "pro"`. */
function describeChange(before: unknown, after: unknown): string {
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((name) => name !== 'rev');
  return names
    .filter((name) => JSON.stringify(from[name]) !== JSON.stringify(to[name]))
    .map((name) => `${name}: ${text(from[name])} -> ${text(to[name])}`)
    .join(', ');
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function text(value: unknown): string {
  return value === undefined || value === null ? '-' : JSON.stringify(value);
}
