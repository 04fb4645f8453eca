import uPlot from 'uplot';

/** @typedef {'lines' | 'stacked' | 'bars'} ChartKind */
/** @typedef {{ label: string, tone: string, values: (number | null)[] }} ChartSeries */

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const exactClock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const utcDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

const daySeconds = 86_400;
const axisFont = '12px system-ui, sans-serif';

/**
 * Options of uPlot for a chart of counts over time, in the viewer's zone.
 * @param {object} chart
 * @param {ChartKind} chart.kind
 * @param {boolean} chart.utcDays whether points are UTC days
 * @param {readonly ChartSeries[]} chart.series visible ones
 * @param {(tone: string) => string} chart.colorOf
 * @param {(value: number) => string} chart.format
 * @param {number} chart.width
 * @param {number} chart.height
 * @param {number} chart.spanSeconds time that the axis shows, up to the newest point; 0 for all points
 * @param {(index: number | undefined) => void} chart.onCursor
 * @returns {uPlot.Options}
 */
export function chartOptions(chart) {
  const { kind, utcDays, series, colorOf, format, width, height, spanSeconds, onCursor } = chart;
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
    cursor: { y: false, drag: { x: false, y: false }, points: { show: kind === 'lines' } },
    scales: {
      x: {
        time: true,
        range: (u, min, max) => {
          const half = kind === 'bars' ? stepOf(u.data[0]) / 2 : 0;
          return [spanSeconds > 0 ? max - spanSeconds : min - half, max + half];
        },
      },
      y: { range: (_u, _min, max) => [0, uPlot.rangeNum(0, max > 0 ? max : 1, 0.1, true)[1] ?? 1] },
    },
    axes: [
      {
        ...axis,
        space: 70,
        size: 32,
        values: (_u, splits, _axis, _space, increment) =>
          splits.map((seconds) => formatTick(seconds, increment, utcDays)),
      },
      { ...axis, size: 64, values: (_u, splits) => splits.map((value) => format(value)) },
    ],
    series: [
      {},
      ...drawingOrder(kind, series).map(({ label, tone }) => seriesOptions(kind, label, colorOf(tone))),
    ],
    ...(utcDays
      ? { tzDate: (/** @type {number} */ seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') }
      : {}),
    hooks: { setCursor: [(u) => onCursor(u.cursor.idx ?? undefined)] },
  };
}

/**
 * @param {ChartKind} kind
 * @param {string} label
 * @param {string} color
 * @returns {uPlot.Series}
 */
function seriesOptions(kind, label, color) {
  if (kind === 'lines') return { label, stroke: color, width: 2, points: { size: 5, filter: lonePoints } };
  const paths = kind === 'bars' ? uPlot.paths.bars?.({ size: [0.8, 48], align: 0 }) : undefined;
  const area = { label, stroke: color, fill: color, width: 1, points: { show: false } };
  return paths === undefined ? area : { ...area, paths };
}

/**
 * Points without a neighbour, which a line would not show.
 * @param {uPlot} u
 * @param {number} seriesIndex
 */
function lonePoints(u, seriesIndex) {
  const values = u.data[seriesIndex] ?? [];
  const isNone = (/** @type {number} */ index) => values[index] === null || values[index] === undefined;
  return Array.from(values.keys()).filter(
    (index) => !isNone(index) && isNone(index - 1) && isNone(index + 1),
  );
}

/**
 * Data of uPlot. Values of a stack are sums, and the highest is drawn first.
 * @param {ChartKind} kind
 * @param {readonly number[]} times Unix seconds
 * @param {readonly ChartSeries[]} series visible ones
 * @returns {uPlot.AlignedData}
 */
export function chartData(kind, times, series) {
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

/**
 * @param {ChartKind} kind
 * @param {readonly ChartSeries[]} series
 */
const drawingOrder = (kind, series) => (kind === 'lines' ? series : series.toReversed());

/** @param {ArrayLike<number> | undefined} times */
const stepOf = (times) => (times?.[1] ?? daySeconds) - (times?.[0] ?? 0);

/**
 * @param {number} seconds
 * @param {number} increment between two ticks
 * @param {boolean} utcDays
 */
function formatTick(seconds, increment, utcDays) {
  const date = new Date(seconds * 1000);
  if (utcDays) return utcDay.format(date);
  if (increment >= daySeconds) return day.format(date);
  if (increment < 60) return exactClock.format(date);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return isMidnight ? day.format(date) : clock.format(date);
}
