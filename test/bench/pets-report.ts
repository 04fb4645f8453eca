import type { PetsSample } from './pets-contenders.ts';
import { markdownTable, median } from './report.ts';

/** Medians of one contender over all rounds, with the range of its rate. */
export interface PetsRow extends PetsSample {
  lowest: number;
  highest: number;
}

export function summarize(samples: readonly PetsSample[]): PetsRow {
  const valuesOf = (field: keyof PetsSample) => samples.map((sample) => sample[field]);
  const rates = valuesOf('perSecond');
  return {
    perSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    cpuMicros: median(valuesOf('cpuMicros')),
    postgresMicros: median(valuesOf('postgresMicros')),
    p50: median(valuesOf('p50')),
    p99: median(valuesOf('p99')),
  };
}

const formatInteger = (value: number) => Math.round(value).toLocaleString('en');
const rate = ({ perSecond, lowest, highest }: PetsRow) =>
  `${formatInteger(perSecond)} (${formatInteger(lowest)}–${formatInteger(highest)})`;
const ratio = (value: number) => value.toFixed(2);
const micros = (value: number) => value.toFixed(0);
const ms = (value: number) => value.toFixed(1);

export interface PrismaComparison {
  title: string;
  service: PetsRow;
  prisma: PetsRow;
}

export const prismaTable = (rows: readonly PrismaComparison[]): string =>
  markdownTable(
    [
      'request',
      'service, requests/s',
      'Prisma, calls/s',
      'rate, service / Prisma',
      'service, CPU µs',
      'Prisma, CPU µs',
      'calls per CPU second, service / Prisma',
      'PostgreSQL, CPU µs: service / Prisma',
    ],
    rows.map(({ title, service, prisma }) => [
      title,
      rate(service),
      rate(prisma),
      `**${ratio(service.perSecond / prisma.perSecond)}**`,
      micros(service.cpuMicros),
      micros(prisma.cpuMicros),
      ratio(prisma.cpuMicros / service.cpuMicros),
      `${micros(service.postgresMicros)} / ${micros(prisma.postgresMicros)}`,
    ]),
  );

export interface VersionComparison {
  title: string;
  service: PetsRow;
  baseline: PetsRow;
}

export const versionTable = (rows: readonly VersionComparison[]): string =>
  markdownTable(
    [
      'request',
      'this checkout, requests/s',
      'other checkout, requests/s',
      'rate, this / other',
      'CPU time, this / other',
    ],
    rows.map(({ title, service, baseline }) => [
      title,
      rate(service),
      rate(baseline),
      `**${ratio(service.perSecond / baseline.perSecond)}**`,
      `**${ratio(service.cpuMicros / baseline.cpuMicros)}**`,
    ]),
  );

export interface EndToEndComparison {
  title: string;
  service: PetsRow;
  behind: PetsRow;
}

export const endToEndTable = (rows: readonly EndToEndComparison[]): string =>
  markdownTable(
    [
      'request',
      'behind the gateway, requests/s',
      'service alone, requests/s',
      'p50 ms: behind the gateway / alone',
      'gateway and service, CPU µs',
      'service alone, CPU µs',
      'PostgreSQL, CPU µs',
    ],
    rows.map(({ title, service, behind }) => [
      title,
      rate(behind),
      rate(service),
      `${ms(behind.p50)} / ${ms(service.p50)}`,
      micros(behind.cpuMicros),
      micros(service.cpuMicros),
      micros(behind.postgresMicros),
    ]),
  );

export interface TableSizeComparison {
  title: string;
  few: PetsRow;
  many: PetsRow;
}

export const tableSizeTable = (rows: readonly TableSizeComparison[]): string =>
  markdownTable(
    [
      'request',
      'few pets, p50 ms',
      'many pets, p50 ms',
      'rate, many / few',
      'service, CPU µs: few / many',
      'PostgreSQL, CPU µs: few / many',
    ],
    rows.map(({ title, few, many }) => [
      title,
      few.p50.toFixed(2),
      many.p50.toFixed(2),
      ratio(many.perSecond / few.perSecond),
      `${micros(few.cpuMicros)} / ${micros(many.cpuMicros)}`,
      `${micros(few.postgresMicros)} / ${micros(many.postgresMicros)}`,
    ]),
  );

export interface PoolSizeResult {
  title: string;
  poolSize: number;
  row: PetsRow;
}

export const poolSizeTable = (rows: readonly PoolSizeResult[]): string =>
  markdownTable(
    ['request', 'pool size', 'requests/s', 'p50 ms', 'p99 ms', 'service, CPU µs', 'PostgreSQL, CPU µs'],
    rows.map(({ title, poolSize, row }) => [
      title,
      String(poolSize),
      rate(row),
      ms(row.p50),
      ms(row.p99),
      micros(row.cpuMicros),
      micros(row.postgresMicros),
    ]),
  );
