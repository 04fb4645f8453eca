import type { History, Interval, RecordedRequest } from './history.ts';

const width = 1000;
const left = 150;
const top = 30;
const barsHeight = 200;
const rowHeight = 22;

interface Series {
  name: string;
  colour: string;
  has(request: RecordedRequest): boolean;
}

const series: readonly Series[] = [
  { name: '2xx', colour: '#0b7a75', has: ({ status }) => status >= 200 && status < 300 },
  { name: '429', colour: '#d99a1c', has: ({ status }) => status === 429 },
  { name: '401', colour: '#9aa5b1', has: ({ status }) => status === 401 },
  { name: '5xx', colour: '#b3261e', has: ({ status }) => status >= 500 },
  { name: 'no response', colour: '#3d3d3d', has: ({ status }) => status === 0 },
];

/** SVG of a run: responses of each second by status, the faults as bands, and when gateways decided without Redis. */
export function chartOf({ startMs, endMs, requests, faults, outages, changes }: History): string {
  const scale = (width - left - 20) / (endMs - startMs);
  const x = (ms: number) => left + (Math.max(startMs, Math.min(endMs, ms)) - startMs) * scale;
  const seconds = Math.ceil((endMs - startMs) / 1000);
  const counts = Array.from({ length: seconds }, (_, second) => {
    const inSecond = requests.filter((request) => Math.floor((request.endMs - startMs) / 1000) === second);
    return series.map(({ has }) => inSecond.filter(has).length);
  });
  const most = Math.max(1, ...counts.map((count) => count.reduce((sum, one) => sum + one, 0)));
  const bars = counts.flatMap((count, second) => {
    let y = top + barsHeight;
    return count.map((number, index) => {
      const height = (number / most) * barsHeight;
      y -= height;
      return rect(x(startMs + second * 1000) + 0.5, y, 1000 * scale - 1, height, series[index]?.colour);
    });
  });
  const rows = [
    ...Array.from(
      Map.groupBy(faults, ({ kind }) => kind),
      ([kind, same]) => ({ name: kind, same, colour: '#b3261e' }),
    ),
    { name: 'without Redis', same: outages, colour: '#5b4b9a' },
    { name: 'changes', same: changes, colour: '#2d6cb3' },
  ];
  const rowsTop = top + barsHeight + 30;
  const bands = rows.flatMap(({ name, same, colour }, row) => {
    const y = rowsTop + row * rowHeight;
    return [
      text(left - 8, y + 15, name, 'end'),
      ...same.map((interval: Interval) =>
        rect(
          x(interval.startMs),
          y + 4,
          Math.max(2, x(interval.endMs) - x(interval.startMs)),
          rowHeight - 8,
          colour,
        ),
      ),
    ];
  });
  const height = rowsTop + rows.length * rowHeight + 30;
  const ticks = Array.from({ length: Math.floor(seconds / 10) + 1 }, (_, index) =>
    text(x(startMs + index * 10_000), height - 10, `${index * 10} s`, 'middle'),
  );
  const legend = series.flatMap(({ name, colour }, index) => [
    rect(left + index * 110, 8, 12, 12, colour),
    text(left + index * 110 + 18, 18, name, 'start'),
  ]);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="Responses of each second by status, faults and changes">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    text(left - 8, top + 10, `${most} a second`, 'end'),
    ...legend,
    ...bars,
    ...bands,
    ...ticks,
    '</svg>\n',
  ].join('\n');
}

function rect(x: number, y: number, w: number, h: number, fill = '#000000'): string {
  const [left, top, across, down] = [x, y, w, h].map((number) => number.toFixed(1));
  return `<rect x="${left}" y="${top}" width="${across}" height="${down}" fill="${fill}"/>`;
}

function text(x: number, y: number, content: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${content}</text>`;
}
