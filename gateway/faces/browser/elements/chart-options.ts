import uPlot from 'uplot';

/** Its tone is one of the styles: good, quiet, caution, bad, other. */
export type ChartSeries = { label: string; tone: string; values: readonly (number | null)[] };

const timeZone = 'UTC';

/** What the points of a chart are (a day or month is a bar), and how a tick of its axis and a reader name one. Times are in the viewer's zone. */
export const chartUnits = {
  time: {
    tick: new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' }),
    exact: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
  },
  'utc-day': {
    tick: new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone }),
    exact: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeZone }),
  },
  'utc-month': {
    tick: new Intl.DateTimeFormat(undefined, { month: 'short', year: 'numeric', timeZone }),
    exact: new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone }),
  },
};
export type ChartUnit = keyof typeof chartUnits;

/** Short, so that there is room for the largest: 1.5M. */
const axisNumbers = new Intl.NumberFormat(undefined, { notation: 'compact', maximumSignificantDigits: 3 });
const axisFont = '12px Geist, system-ui, sans-serif';
/** Of the axis of values, which the widest short number has room on. */
const axisWidth = 48;
const tickSpace = 70;
const daySeconds = 86_400;

/** Options of uPlot for a chart of counts over time. */
export function chartOptions(chart: {
  unit: ChartUnit;
  series: readonly ChartSeries[];
  colorOf: (tone: string) => string;
  width: number;
  height: number;
  onCursor: (index: number | undefined) => void;
}): uPlot.Options {
  const { unit, series, colorOf, width, height } = chart;
  const isBars = unit !== 'time';
  const line = { stroke: colorOf('line'), width: 1 };
  const axis = { stroke: colorOf('quiet'), font: axisFont, grid: line, ticks: line };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { range: (u, min, max) => (isBars ? [min - halfBar(u), max + halfBar(u)] : [min, max]) },
      y: { range: (_u, _min, max) => [0, uPlot.rangeNum(0, max > 0 ? max : 1, 0.1, true)[1] ?? 1] },
    },
    axes: [
      {
        ...axis,
        space: tickSpace,
        size: 32,
        ...(isBars && { splits: namedPoints }),
        values: (_u, splits) => splits.map((seconds) => chartUnits[unit].tick.format(seconds * 1000)),
      },
      { ...axis, size: axisWidth, values: (_u, splits) => splits.map((value) => axisNumbers.format(value)) },
    ],
    series: [{}, ...series.toReversed().map(({ tone }) => seriesOptions(isBars, colorOf(`tone-${tone}`)))],
    hooks: { setCursor: [({ cursor }) => chart.onCursor(cursor.idx ?? undefined)] },
  };
}

function seriesOptions(isBars: boolean, stroke: string): uPlot.Series {
  const paths = isBars ? uPlot.paths.bars?.({ size: [0.8, 48], align: 0 }) : undefined;
  return { stroke, fill: stroke, width: 1, points: { show: false }, ...(paths && { paths }) };
}

/**
 * Data of uPlot. Values are sums, and the highest is drawn first; nothing is drawn for null.
 * @param times Unix seconds
 */
export function chartData(times: readonly number[], series: readonly ChartSeries[]): uPlot.AlignedData {
  let sums: (number | null)[] = times.map(() => 0);
  const stacked = series.map(({ values }) => {
    sums = values.map((value, index) => (value === null ? null : value + (sums[index] ?? 0)));
    return sums;
  });
  return [[...times], ...stacked.toReversed()];
}

/** Points that have a tick: all, or every other one and so on as there is room. */
function namedPoints({ data: [times], width }: uPlot) {
  const every = Math.ceil((times.length * tickSpace) / width);
  return Array.from(times).filter((_, index) => (times.length - 1 - index) % every === 0);
}

/** Room beside the first and the last bar, in seconds. */
function halfBar({ data: [times] }: uPlot) {
  const [first = 0, second = first + daySeconds] = times;
  return (second - first) / 2;
}
