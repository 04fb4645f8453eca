import { styleText } from 'node:util';
import { allRefusals } from '../operations/traffic-summary.ts';
import type { Traffic, TrafficPoint } from '../operations/traffic.ts';
import { perSecond } from './traffic-table.ts';

type Colour = 'green' | 'cyan' | 'yellow' | 'red' | 'magenta' | 'gray';

/** Classes of status from the bottom of the chart to its top. */
const statuses: readonly { status: string; colour: Colour; always: boolean }[] = [
  { status: '2xx', colour: 'green', always: true },
  { status: '3xx', colour: 'cyan', always: false },
  { status: '4xx', colour: 'yellow', always: true },
  { status: '5xx', colour: 'red', always: true },
  { status: 'aborted', colour: 'gray', always: false },
  { status: 'cut_off', colour: 'magenta', always: false },
];

const chartHeight = 8;
const labelWidth = 9;
const valueWidth = 9;
/** Below it a chart says nothing. */
const minimumWidth = 12;
const eighths = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Number of characters of the chart itself on a terminal of this width, beside labels and values. */
export function chartWidth(columns: number): number {
  return Math.max(minimumWidth, columns - 1 - labelWidth - 3 * valueWidth);
}

/**
 * Draws requests a second, stacked by class of status, and below a line each for the classes, the latency of served
 * requests, refusals and bans. Coloured on a terminal and without NO_COLOR; each class also has a line of its own.
 */
export function drawTraffic(
  { points, total }: Traffic,
  { title, columns }: { title: string; columns: number },
): string[] {
  const barWidth = Math.max(1, Math.floor(chartWidth(columns) / Math.max(1, points.length)));
  const width = barWidth * points.length;
  const shown = statuses.filter(({ status, always }) => always || (total.byStatus[status] ?? 0) > 0);
  const rate = (label: string, colour: Colour, count: (point: TrafficPoint) => number): Line => ({
    label,
    colour,
    values: points.map((point) => perSecond(point, count(point))),
    total: count(total),
  });
  const latency = (quantile: 'p50' | 'p99'): Line => ({
    label: `${quantile} ms`,
    colour: 'cyan',
    values: points.map(({ latencyMs }) => latencyMs.served?.[quantile]),
    total: total.latencyMs.served?.[quantile],
  });
  const lines = [
    ...shown.map(({ status, colour }) => rate(status, colour, ({ byStatus }) => byStatus[status] ?? 0)),
    rate('refused', 'yellow', ({ refusals }) => allRefusals(refusals)),
    rate('banned', 'yellow', ({ bannedRequests }) => bannedRequests),
    rate('bans', 'red', ({ bans }) => bans),
    ...(total.unauthenticated === undefined
      ? []
      : [rate('no key', 'yellow', ({ unauthenticated = 0 }) => unauthenticated)]),
    ...(total.blockedRequests === undefined
      ? []
      : [rate('blocked', 'yellow', ({ blockedRequests = 0 }) => blockedRequests)]),
    rate('local', 'magenta', ({ localDecisions }) => localDecisions),
    latency('p50'),
    latency('p99'),
  ];
  const heading = ['now', 'max', 'total'].map((name) => name.padStart(valueWidth)).join('');
  return [
    title,
    '',
    ...drawStack(points, barWidth),
    ' '.repeat(labelWidth) + timeAxis(points, width),
    '',
    'a second'.padEnd(labelWidth + width) + heading,
    ...lines.map((line) => drawLine(line, barWidth)),
    '',
  ];
}

/** A small chart in one line, with its newest and its highest value and the total. */
interface Line {
  label: string;
  colour: Colour;
  /** Undefined where nothing was measured. */
  values: (number | undefined)[];
  total: number | undefined;
}

function drawLine({ label, colour, values, total }: Line, barWidth: number): string {
  const known = values.filter((value) => value !== undefined);
  const max = known.length > 0 ? Math.max(...known) : undefined;
  const bars = values.map((value) => sparkOf(value ?? 0, max ?? 0).repeat(barWidth)).join('');
  const numbers = [values.at(-1), max, total].map((value) => formatNumber(value).padStart(valueWidth));
  return label.padEnd(labelWidth) + paint(colour, bars) + numbers.join('');
}

/** Bars of requests a second. Each cell has the colour of the class of status at its middle. */
function drawStack(points: readonly TrafficPoint[], barWidth: number): string[] {
  const rates = points.map((point) => perSecond(point, point.requests));
  const max = Math.max(...rates);
  return Array.from({ length: chartHeight }, (_, line) => {
    const row = chartHeight - 1 - line;
    const cells = points.map((point, index) => {
      // In eighths of a line. The smallest rate above 0 is visible.
      const height = Math.ceil(((rates[index] ?? 0) / max) * chartHeight * 8);
      const filled = Math.min(8, Math.max(0, height - row * 8));
      const share = (row * 8 + filled / 2) / Math.max(1, height);
      return { text: (eighths[filled] ?? ' ').repeat(barWidth), colour: colourAt(point, share) };
    });
    const label = line === 0 ? formatNumber(max) : row === 0 ? '0' : '';
    return `${label.padStart(labelWidth - 2)} │${paintRuns(cells)}`;
  });
}

/** Colour of the class of status at this share of the bar's height, from its bottom. */
function colourAt({ requests, byStatus }: TrafficPoint, share: number): Colour {
  let below = 0;
  for (const { status, colour } of statuses) {
    below += byStatus[status] ?? 0;
    if (share * requests <= below) return colour;
  }
  return 'gray';
}

/** A bar of one character, the largest value at full height; a space for 0. */
export function sparkOf(value: number, max: number): string {
  return value > 0 ? (eighths[Math.ceil((value / max) * 8)] ?? ' ') : ' ';
}

/** Times in UTC at the beginning, the middle and the end, as far as there is room. */
function timeAxis(points: readonly TrafficPoint[], width: number): string {
  const [first, last] = [points.at(0)?.at ?? '', points.at(-1)?.at ?? ''];
  const sameDay = first.slice(0, 10) === last.slice(0, 10);
  const label = (at: string) => (sameDay ? at.slice(11, 16) : at.slice(5, 16).replace('T', ' '));
  const end = `${label(last)} UTC`;
  const middle = label(points.at(Math.floor(points.length / 2))?.at ?? '');
  const start = label(first);
  if (start.length + end.length + 1 > width) return end;
  const gap = Math.floor(width / 2) - start.length;
  const withMiddle = start + (gap > 1 ? ' '.repeat(gap) + middle : '');
  const beginning = withMiddle.length + end.length + 1 > width ? start : withMiddle;
  return beginning.padEnd(width - end.length) + end;
}

const numbers = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

function formatNumber(value: number | undefined): string {
  return value === undefined ? '-' : numbers.format(value);
}

/** Paints neighbours of the same colour together: an escape sequence for each would be most of the text. */
function paintRuns(cells: readonly { text: string; colour: Colour }[]): string {
  const runs: { text: string; colour: Colour }[] = [];
  for (const { text, colour } of cells) {
    const run = runs.at(-1);
    if (run?.colour === colour) run.text += text;
    else runs.push({ text, colour });
  }
  return runs.map(({ text, colour }) => paint(colour, text)).join('');
}

/** Not on a terminal, or with NO_COLOR, the text stays as it is. */
function paint(colour: Colour, text: string): string {
  return styleText(colour, text, { stream: process.stdout });
}
