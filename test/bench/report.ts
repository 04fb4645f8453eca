import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

/** Medians over all rounds of one contender in one scenario. Times in milliseconds. */
export interface Row {
  name: string;
  title: string;
  requestsPerSecond: number;
  lowest: number;
  highest: number;
  p50: number;
  p99: number;
  p999: number;
  cpuPer10k: number;
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [
    sorted[sorted.length % 2 === 1 ? middle : middle - 1],
    sorted[middle],
  ];
  return (low + high) / 2;
}

/** When and on what was measured, with the two settings of Linux that matter most to it. */
export function environmentLine(): string {
  const congestion = setting('/proc/sys/net/ipv4/tcp_congestion_control');
  const haltPoll = setting('/sys/module/haltpoll/parameters/guest_halt_poll_ns');
  return [
    `${new Date().toISOString()}, Node ${process.version}`,
    ...(congestion === undefined ? [] : [`TCP ${congestion}`]),
    ...(haltPoll === undefined
      ? []
      : [`virtual machine, an idle core is halted after ${Number(haltPoll) / 1000} µs`]),
  ].join(', ');
}

/** @returns undefined where there is none, as outside of Linux or of a virtual machine */
function setting(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

export const resultsDirectory = fileURLToPath(new URL('results/', import.meta.url));

/** Keeps what was measured, for people and for programs. */
export async function writeResults(name: string, markdown: string, data: unknown): Promise<void> {
  await mkdir(resultsDirectory, { recursive: true });
  const json = JSON.stringify(data, (_key, value: unknown) =>
    typeof value === 'number' ? Math.round(value * 1000) / 1000 : value,
  );
  await writeFile(`${resultsDirectory}${name}.md`, await format(markdown, { parser: 'markdown' }));
  await writeFile(`${resultsDirectory}${name}.json`, await format(json, { parser: 'json', printWidth: 110 }));
}

const thousands = (value: number) => Math.round(value).toLocaleString('en');
const ms = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0));

/** @param ours name of the contender that the others are divided by */
export function throughputTable(rows: readonly Row[], ours: string): string {
  const own = rows.find(({ name }) => name === ours)?.requestsPerSecond ?? Number.NaN;
  const ordered = rows.toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond);
  return table(
    ['contender', 'requests/s', 'ours is', 'p50 ms', 'p99 ms', 'p99.9 ms', 'CPU s per 10,000'],
    ordered.map(({ title, name, requestsPerSecond, lowest, highest, p50, p99, p999, cpuPer10k }) => [
      name === ours ? `**${title}**` : title,
      `${thousands(requestsPerSecond)} (${thousands(lowest)}–${thousands(highest)})`,
      `${(own / requestsPerSecond).toFixed(2)} ×`,
      ms(p50),
      ms(p99),
      ms(p999),
      cpuPer10k === 0 ? '–' : cpuPer10k.toFixed(2),
    ]),
  );
}

export function latencyTable(rows: readonly Row[]): string {
  const direct = rows.find(({ name }) => name === 'direct');
  const added = (value: number, base: number | undefined) =>
    base === undefined ? '' : ` (+${ms(value - base)})`;
  return table(
    ['contender', 'p50 ms', 'p99 ms', 'p99.9 ms'],
    rows.map(({ title, p50, p99, p999 }) => [
      title,
      ms(p50) + added(p50, direct?.p50),
      ms(p99) + added(p99, direct?.p99),
      ms(p999) + added(p999, direct?.p999),
    ]),
  );
}

/** A table in Markdown. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}
