import uPlot from 'uplot';

export type ChartKind = 'lines' | 'stacked' | 'bars';
/** What the points are. */
export type ChartUnit = 'time' | 'utc-day' | 'utc-month';
export type ChartSeries = { label: string; tone: string; values: (number | null)[] };

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const exactClock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const utcDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

const utcMonth = new Intl.DateTimeFormat(undefined, { month: 'short', year: '2-digit', timeZone: 'UTC' });

const daySeconds = 86_400;
const axisFont = '12px system-ui, sans-serif';

/** Options of uPlot for a chart of counts over time, in the viewer's zone. */
export function chartOptions(chart: {
  kind: ChartKind;
  unit: ChartUnit;
  /** visible ones */
  series: readonly ChartSeries[];
  colorOf: (tone: string) => string;
  format: (value: number) => string;
  width: number;
  height: number;
  onCursor: (index: number | undefined) => void;
}): uPlot.Options {
  const { kind, unit, series, colorOf, width, height } = chart;
  const [text, line] = [colorOf('text'), colorOf('grid')];
  const axis = {
    stroke: text,
    font: axisFont,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
  };
  return {
    width,
    height,
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { show: kind === 'lines' },
    },
    scales: {
      x: {
        time: true,
        range: (u, min, max) => {
          const half = kind === 'bars' ? stepOf(u.data[0]) / 2 : 0;
          return [min - half, max + half];
        },
      },
      y: { range: (_u, _min, max) => [0, uPlot.rangeNum(0, max > 0 ? max : 1, 0.1, true)[1] ?? 1] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 32,
        // A month has no fixed length.
        ...(unit === 'utc-month' ? { splits: (u: uPlot) => monthTicks(u) } : {}),
        values: (_u, splits, _axis, _space, increment) =>
          splits.map((seconds) => formatTick(seconds, increment, unit)),
      },
      { ...axis, size: 64, values: (_u, splits) => splits.map((value) => chart.format(value)) },
    ],
    series: [
      {},
      ...drawingOrder(kind, series).map(({ label, tone }) => seriesOptions(kind, label, colorOf(tone))),
    ],
    ...(unit !== 'time'
      ? { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') }
      : {}),
    hooks: { setCursor: [(u) => chart.onCursor(u.cursor.idx ?? undefined)] },
  };
}

function seriesOptions(kind: ChartKind, label: string, color: string): uPlot.Series {
  if (kind === 'lines') return { label, stroke: color, width: 2, points: { size: 5, filter: lonePoints } };
  const paths = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.8, 48], align: 0 }) : undefined;
  const area = { label, stroke: color, fill: color, width: 1, points: { show: false } };
  return paths === undefined ? area : { ...area, paths };
}

/** Points without a neighbour, which a line would not show. */
function lonePoints(u: uPlot, seriesIndex: number) {
  const values = u.data[seriesIndex] ?? [];
  const isNone = (index: number) => values[index] === null || values[index] === undefined;
  return Array.from(values.keys()).filter(
    (index) => !isNone(index) && isNone(index - 1) && isNone(index + 1),
  );
}

/**
 * Data of uPlot. Values of a stack are sums, and the highest is drawn first.
 * @param times Unix seconds
 * @param series visible ones
 */
export function chartData(
  kind: ChartKind,
  times: readonly number[],
  series: readonly ChartSeries[],
): uPlot.AlignedData {
  if (kind === 'lines') return [[...times], ...series.map(({ values }) => values)];
  const sums = times.map(() => 0);
  const stacked = series.map(({ values }) =>
    sums.map((_, index) => {
      sums[index] = (sums[index] ?? 0) + (values[index] ?? 0);
      return sums[index] ?? 0;
    }),
  );
  return [[...times], ...stacked.toReversed()];
}

const drawingOrder = (kind: ChartKind, series: readonly ChartSeries[]) =>
  kind === 'lines' ? series : series.toReversed();

/** Months to name: all, or every other one and so on as there is room. */
function monthTicks(u: uPlot) {
  const times = [...(u.data[0] ?? [])];
  const every = Math.max(1, Math.ceil((times.length * 70) / u.width));
  return times.filter((_, index) => (times.length - 1 - index) % every === 0);
}

const stepOf = (times: ArrayLike<number> | undefined) => (times?.[1] ?? daySeconds) - (times?.[0] ?? 0);

/** @param increment between two ticks */
function formatTick(seconds: number, increment: number, unit: ChartUnit) {
  const date = new Date(seconds * 1000);
  if (unit === 'utc-month') return utcMonth.format(date);
  if (unit === 'utc-day') return utcDay.format(date);
  if (increment >= daySeconds) return day.format(date);
  if (increment < 60) return exactClock.format(date);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return isMidnight ? day.format(date) : clock.format(date);
}
