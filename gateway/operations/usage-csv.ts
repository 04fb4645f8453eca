import { formatCsvText } from './csv-cell.ts';
import type { UsageRow } from './usage-record.ts';

/** Formats rows of use as CSV, page by page. The columns are stable: they are only added, at the end. */
export async function* usageCsv(pages: AsyncIterable<readonly UsageRow[]>): AsyncGenerator<string> {
  yield 'id,name,date,plan,served,refused,bannedSeconds,units\n';
  for await (const page of pages) {
    if (page.length > 0) yield page.map(csvLine).join('');
  }
}

function csvLine({ id, name, date, plan, served, refused, bannedSeconds, units = served }: UsageRow): string {
  const texts = [id, name, date, plan ?? ''].map(formatCsvText);
  return `${[...texts, served, refused, bannedSeconds, units].join(',')}\n`;
}
