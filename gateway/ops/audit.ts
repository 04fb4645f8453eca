import { Command } from 'commander';
import { readAudit, readAuditAfter, type AuditEntry } from '../operations/audit-log.ts';
import { countArgument, jsonOption, type JsonOption } from './options.ts';
import { printable, writeJson, writeTable } from './output.ts';
import { patiently, withRedis } from './redis-connection.ts';

interface AuditOptions extends JsonOption {
  count: number;
  follow?: true;
}

export function auditCommand(): Command {
  return new Command('audit')
    .description('who changed what, when; newest last')
    .option('--count <n>', 'so many entries', countArgument(100_000), 50)
    .option('--follow', 'go on with new entries as they come, until Ctrl-C')
    .addOption(jsonOption())
    .action(async ({ count, follow, json }: AuditOptions) => {
      await withRedis(async ({ redis }) => {
        const entries = await readAudit(redis, count);
        if (follow === undefined) {
          if (json) writeJson(entries);
          else writeTable(['AT', 'WHO', 'ACTION', 'TARGET', 'CHANGE'], entries.map(row));
          return;
        }
        for (const entry of entries) writeEntry(entry, json);
        for (let last = entries.at(-1)?.id ?? '0-0'; ;) {
          const after = last;
          const next = await patiently(() => readAuditAfter(redis, after));
          for (const entry of next) writeEntry(entry, json);
          last = next.at(-1)?.id ?? last;
        }
      });
    });
}

/** With --follow there is no end to wait for, so each entry is a line of its own. */
function writeEntry(entry: AuditEntry, json: true | undefined): void {
  if (json) writeJson(entry);
  else process.stdout.write(`${row(entry).map(printable).join('  ')}\n`);
}

function row({ at, who, action, target, before, after }: AuditEntry): string[] {
  return [at, who, action, target, difference(before, after)];
}

/** The fields that changed, as `plan: "free" -> "pro"`. */
function difference(before: unknown, after: unknown): string {
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
