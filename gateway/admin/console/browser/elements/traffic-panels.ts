import './time-chart.ts';
import { html } from 'lit';
import { formatRate } from '../../../../browser/format.ts';
import { windows, type ByWindow } from '../../../../limits/windows.ts';
import type { StatusPoint } from '../live-points.ts';
import type { TrafficPoint } from '../responses.ts';
import type { ChartRange } from '../shown-range.ts';
import type { ChartMark } from './chart-marks.ts';
import type { ChartSeries } from './chart-options.ts';

/** What all charts of a page have in common. */
interface Frame {
  range?: ChartRange | undefined;
  marks?: readonly ChartMark[];
}

/** @param options wide: the first one, and the only one at whose marks the keyboard stops */
const trafficChart = (
  heading: string,
  points: readonly { at: string }[],
  series: readonly ChartSeries[],
  { range, marks = [] }: Frame,
  { kind = 'lines', wide = false }: { kind?: 'stacked' | 'lines'; wide?: boolean } = {},
) =>
  html`<time-chart
    class=${wide ? 'panel wide' : 'panel'}
    heading=${heading}
    kind=${kind}
    group="traffic"
    zoom
    ?quiet-marks=${!wide}
    .range=${range}
    .marks=${marks}
    .times=${points.map(secondsOf)}
    .series=${series}
    .format=${formatRate}
  ></time-chart>`;

export const requestChart = (points: readonly StatusPoint[], frame: Frame = {}) =>
  trafficChart('Requests a second', points, requestSeries(points), frame, { kind: 'stacked', wide: true });

export const refusalChart = (points: readonly TrafficPoint[], frame: Frame) =>
  trafficChart('Refusals a second', points, refusals(points), frame, { kind: 'stacked' });

export const durationChart = (points: readonly TrafficPoint[], frame: Frame) =>
  trafficChart(
    'Duration of served requests (ms)',
    points,
    [quantile(points, 'p50', 'brand'), quantile(points, 'p99', 'caution')],
    frame,
  );

function refusals(points: readonly TrafficPoint[]): ChartSeries[] {
  const rate = (count: (point: TrafficPoint) => number) =>
    points.map((point) => perSecond(count(point), point.seconds));
  return [
    ...refusalSeries(points),
    { label: 'during a ban', tone: 'bad', values: rate(({ bannedRequests }) => bannedRequests) },
    ...occurring([
      {
        label: 'without a valid key',
        tone: 'quiet',
        values: rate(({ unauthenticated = 0 }) => unauthenticated),
      },
      { label: 'blocked address', tone: 'other', values: rate(({ blockedRequests = 0 }) => blockedRequests) },
    ]),
  ];
}

const quantile = (points: readonly TrafficPoint[], name: 'p50' | 'p99', tone: string): ChartSeries => ({
  label: name,
  tone,
  values: points.map(({ latencyMs }) => latencyMs.served?.[name] ?? null),
});

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
function requestSeries(
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
function refusalSeries(points: readonly { refusals: ByWindow<number>; seconds: number }[]): ChartSeries[] {
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
const occurring = (series: readonly ChartSeries[]): ChartSeries[] =>
  series.filter(({ values }) => values.some((value) => (value ?? 0) > 0));

const perSecond = (count: number | undefined, seconds: number) => (seconds > 0 ? (count ?? 0) / seconds : 0);

/** @returns Unix seconds */
export const secondsOf = ({ at }: { at: string }): number => Date.parse(at) / 1000;
