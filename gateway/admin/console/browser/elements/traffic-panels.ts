import './time-chart.ts';
import { html } from 'lit';
import { formatRate } from '../format.ts';
import type { StatusPoint } from '../live-points.ts';
import type { TrafficPoint } from '../responses.ts';
import type { ChartRange } from '../shown-range.ts';
import type { ChartMark } from './chart-marks.ts';
import type { ChartSeries } from './chart-options.ts';
import { occurring, perSecond, refusalSeries, requestSeries, secondsOf } from './traffic-series.ts';

/** What all charts of a page have in common. */
type Frame = { range?: ChartRange | undefined; marks?: readonly ChartMark[] };

interface Chart extends Frame {
  heading: string;
  points: readonly Pick<TrafficPoint, 'at' | 'seconds'>[];
  series: readonly ChartSeries[];
  kind?: 'stacked' | 'lines';
  /** The first one is wide, and the keyboard stops at its marks only. */
  isFirst?: boolean;
}

const trafficChart = ({
  heading,
  points,
  series,
  kind = 'lines',
  isFirst = false,
  range,
  marks = [],
}: Chart) =>
  html`<time-chart
    class=${isFirst ? 'panel wide' : 'panel'}
    heading=${heading}
    kind=${kind}
    group="traffic"
    zoom
    ?quiet-marks=${!isFirst}
    .range=${range}
    .marks=${marks}
    .times=${points.map(secondsOf)}
    .series=${series}
    .format=${formatRate}
  ></time-chart>`;

export const requestChart = (points: readonly StatusPoint[], frame: Frame = {}) =>
  trafficChart({
    heading: 'Requests a second',
    points,
    series: requestSeries(points),
    kind: 'stacked',
    isFirst: true,
    ...frame,
  });

export const refusalChart = (points: readonly TrafficPoint[], frame: Frame) =>
  trafficChart({
    heading: 'Refusals a second',
    points,
    series: refusals(points),
    kind: 'stacked',
    ...frame,
  });

export const durationChart = (points: readonly TrafficPoint[], frame: Frame) =>
  trafficChart({
    heading: 'Duration of served requests (ms)',
    points,
    series: [quantile(points, 'p50', 'brand'), quantile(points, 'p99', 'caution')],
    ...frame,
  });

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
