import type { PetsSample } from './pets-contenders.ts';
import { median, table } from './report.ts';

/** Medians over all rounds of one contender, and between what its rate lay. */
export interface PetsRow extends PetsSample {
  lowest: number;
  highest: number;
}

export function summarize(samples: readonly PetsSample[]): PetsRow {
  const of = (field: keyof PetsSample) => samples.map((sample) => sample[field]);
  const rates = of('perSecond');
  return {
    perSecond: median(rates),
    lowest: Math.min(...rates),
    highest: Math.max(...rates),
    cpuMicros: median(of('cpuMicros')),
    postgresMicros: median(of('postgresMicros')),
    p50: median(of('p50')),
    p99: median(of('p99')),
  };
}

const thousands = (value: number) => Math.round(value).toLocaleString('en');
const rate = ({ perSecond, lowest, highest }: PetsRow) =>
  `${thousands(perSecond)} (${thousands(lowest)}–${thousands(highest)})`;
const ratio = (value: number) => value.toFixed(2);
const micros = (value: number) => value.toFixed(0);
const ms = (value: number) => value.toFixed(1);

export interface Compared {
  title: string;
  service: PetsRow;
  prisma: PetsRow;
}

export const comparedTable = (rows: readonly Compared[]): string =>
  table(
    [
      'request',
      'service, requests/s',
      'Prisma alone, calls/s',
      'of its rate',
      'service, CPU µs',
      'Prisma alone, CPU µs',
      'of its calls for a second of CPU',
      'PostgreSQL, CPU µs: service / Prisma alone',
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

export interface Versions {
  title: string;
  service: PetsRow;
  baseline: PetsRow;
}

export const versionsTable = (rows: readonly Versions[]): string =>
  table(
    ['request', 'this, requests/s', 'other, requests/s', 'rate, this / other', 'CPU time, this / other'],
    rows.map(({ title, service, baseline }) => [
      title,
      rate(service),
      rate(baseline),
      `**${ratio(service.perSecond / baseline.perSecond)}**`,
      `**${ratio(service.cpuMicros / baseline.cpuMicros)}**`,
    ]),
  );

export interface Behind {
  title: string;
  service: PetsRow;
  behind: PetsRow;
}

export const behindTable = (rows: readonly Behind[]): string =>
  table(
    [
      'request',
      'behind the gateway, requests/s',
      'service alone, requests/s',
      'p50 ms: behind / alone',
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

export interface Grown {
  title: string;
  few: PetsRow;
  many: PetsRow;
}

export const grownTable = (rows: readonly Grown[]): string =>
  table(
    [
      'request',
      'among few, p50 ms',
      'among many, p50 ms',
      'rate, many of few',
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

export interface Pooled {
  title: string;
  poolSize: number;
  row: PetsRow;
}

export const pooledTable = (rows: readonly Pooled[]): string =>
  table(
    ['request', 'pool', 'requests/s', 'p50 ms', 'p99 ms', 'service, CPU µs', 'PostgreSQL, CPU µs'],
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
