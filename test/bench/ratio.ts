import { median } from './report.ts';

/** Ratio of two medians, with its 95 % confidence interval. */
export interface Ratio {
  ratio: number;
  low: number;
  high: number;
}

/** Samples of each process of a variant. */
export type ProcessSamples = readonly (readonly number[])[];

const resamples = 4000;

/**
 * Bootstrap of two levels (Davison and Hinkley, Bootstrap Methods and their Application, 3.8): processes of one build
 * differ by more than their samples do, so processes are drawn first, and then samples of each.
 */
export function ratioOf(changed: ProcessSamples, before: ProcessSamples, random: () => number): Ratio {
  const ratios = Array.from(
    { length: resamples },
    () => centre(resample(changed, random)) / centre(resample(before, random)),
  ).toSorted((a, b) => a - b);
  const at = (share: number) => ratios[Math.floor(share * resamples)] ?? Number.NaN;
  return { ratio: centre(changed) / centre(before), low: at(0.025), high: at(0.975) };
}

/** Mean of the medians of each process. */
function centre(processes: ProcessSamples): number {
  return processes.reduce((sum, samples) => sum + median(samples), 0) / processes.length;
}

function resample(processes: ProcessSamples, random: () => number): ProcessSamples {
  return draw(processes, random).map((samples) => draw(samples, random));
}

function draw<T>(items: readonly T[], random: () => number): T[] {
  return items.map((item) => items[Math.floor(random() * items.length)] ?? item);
}
