import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { format } from 'prettier';

/** Medians of one contender in one scenario over all rounds. Times in milliseconds. */
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

/** Date, Node version and the two Linux settings that affect the results most. */
export function environmentLine(): string {
  const congestion = kernelSetting('/proc/sys/net/ipv4/tcp_congestion_control');
  const haltPoll = kernelSetting('/sys/module/haltpoll/parameters/guest_halt_poll_ns');
  return [
    `${new Date().toISOString()}, Node ${process.version}`,
    ...(congestion === undefined ? [] : [`TCP ${congestion}`]),
    ...(haltPoll === undefined
      ? []
      : [`virtual machine, an idle core is halted after ${Number(haltPoll) / 1000} µs`]),
  ].join(', ');
}

/** @returns undefined if the setting does not exist, as outside Linux or outside a virtual machine */
function kernelSetting(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}

export const resultsDirectory = fileURLToPath(new URL('results/', import.meta.url));

/** @param name of the file, without extension */
export async function writeResults(name: string, data: unknown): Promise<void> {
  const json = JSON.stringify(data, (_key, value: unknown) =>
    typeof value === 'number' ? Math.round(value * 1000) / 1000 : value,
  );
  await writeFile(`${resultsDirectory}${name}.json`, await format(json, { parser: 'json', printWidth: 110 }));
}

const formatInteger = (value: number) => Math.round(value).toLocaleString('en');
const ms = (value: number) => (value < 10 ? value.toFixed(2) : value.toFixed(0));

/** @param ours name of the contender that all others are compared with */
export function throughputTable(rows: readonly Row[], ours: string): string {
  const ourRate = rows.find(({ name }) => name === ours)?.requestsPerSecond ?? Number.NaN;
  const ordered = rows.toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond);
  return markdownTable(
    [
      'contender',
      'requests/s',
      'this gateway / contender',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'CPU s per 10,000 requests',
    ],
    ordered.map(({ title, name, requestsPerSecond, lowest, highest, p50, p99, p999, cpuPer10k }) => [
      name === ours ? `**${title}**` : title,
      `${formatInteger(requestsPerSecond)} (${formatInteger(lowest)}–${formatInteger(highest)})`,
      `${(ourRate / requestsPerSecond).toFixed(2)} ×`,
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
  return markdownTable(
    ['contender', 'p50 ms', 'p99 ms', 'p99.9 ms'],
    rows.map(({ title, p50, p99, p999 }) => [
      title,
      ms(p50) + added(p50, direct?.p50),
      ms(p99) + added(p99, direct?.p99),
      ms(p999) + added(p999, direct?.p999),
    ]),
  );
}

export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), line(header.map(() => '---')), ...rows.map(line)].join('\n');
}
