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
type Frame = { range?: ChartRange; marks?: readonly ChartMark[] };

export const requestChart = (points: readonly StatusPoint[], { range, marks = [] }: Frame = {}) =>
  html`<time-chart
    class="panel wide"
    heading="Requests a second"
    kind="stacked"
    group="traffic"
    zoom
    .range=${range}
    .marks=${marks}
    .times=${points.map(secondsOf)}
    .series=${requestSeries(points)}
    .format=${formatRate}
  ></time-chart>`;

export const refusalChart = (points: readonly TrafficPoint[], { range, marks }: Frame) =>
  html`<time-chart
    class="panel"
    heading="Refusals a second"
    kind="stacked"
    group="traffic"
    zoom
    quiet-marks
    .range=${range}
    .marks=${marks}
    .times=${points.map(secondsOf)}
    .series=${refusals(points)}
    .format=${formatRate}
  ></time-chart>`;

export const durationChart = (points: readonly TrafficPoint[], { range, marks }: Frame) =>
  html`<time-chart
    class="panel"
    heading="Duration of served requests (ms)"
    group="traffic"
    zoom
    quiet-marks
    .range=${range}
    .marks=${marks}
    .times=${points.map(secondsOf)}
    .series=${[quantile(points, 'p50', 'brand'), quantile(points, 'p99', 'caution')]}
    .format=${formatRate}
  ></time-chart>`;

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
