import { windows, type ByWindow } from '../../../../limits/windows.ts';
import type { ChartSeries } from './chart-options.ts';

/** Classes of status from the bottom of a stack to its top, and their tones. */
const classes = [
  ['2xx', '2xx served', 'good'],
  ['3xx', '3xx', 'quiet'],
  ['4xx', '4xx refused', 'caution'],
  ['5xx', '5xx failed', 'bad'],
  ['aborted', 'aborted', 'quiet'],
  ['cut_off', 'cut off', 'other'],
];

/** Requests a second by class of status. Classes that do not occur are left out, except for 2xx. */
export function requestSeries(
  points: readonly { byStatus: Record<string, number>; seconds: number }[],
): ChartSeries[] {
  return classes
    .map(([status = '', label = '', tone = '']) => ({
      status,
      label,
      tone,
      values: points.map(({ byStatus, seconds }) => perSecond(byStatus[status], seconds)),
    }))
    .filter(({ status, values }) => status === '2xx' || values.some((value) => value > 0));
}

/** Tones of windows, in the order of their list. */
const tones = ['caution', 'brand', 'other', 'quiet'];

/** Refusals a second by window. Windows without any are left out, except for those that each plan has. */
export function refusalSeries(
  points: readonly { refusals: ByWindow<number>; seconds: number }[],
): ChartSeries[] {
  return windows
    .map(({ name, required }, index) => ({
      required,
      label: `${name} limit`,
      tone: tones[index % tones.length] ?? '',
      values: points.map(({ refusals, seconds }) => perSecond(refusals[name], seconds)),
    }))
    .filter(({ required, values }) => required || values.some((value) => value > 0));
}

/** Series without those that have no value above 0. */
export const occurring = (series: readonly ChartSeries[]): ChartSeries[] =>
  series.filter(({ values }) => values.some((value) => (value ?? 0) > 0));

export const perSecond = (count: number | undefined, seconds: number) =>
  seconds > 0 ? (count ?? 0) / seconds : 0;

/** @returns Unix seconds */
export const secondsOf = ({ at }: { at: string }): number => Date.parse(at) / 1000;
