import type { Row } from './report.ts';

const barHeight = 22;
const gap = 10;
const labelWidth = 430;
const barsWidth = 380;
const margin = 12;

/** SVG with one horizontal bar per contender, fastest first. */
export function barChart(rows: readonly Row[], ours: string): string {
  const sorted = rows.toSorted((a, b) => b.requestsPerSecond - a.requestsPerSecond);
  const maxRate = sorted[0]?.requestsPerSecond ?? 1;
  const height = 2 * margin + sorted.length * (barHeight + gap);
  const width = labelWidth + barsWidth + 90;
  const bars = sorted.map(({ name, title, requestsPerSecond }, index) => {
    const y = margin + index * (barHeight + gap);
    const length = Math.max(1, (requestsPerSecond / maxRate) * barsWidth).toFixed(1);
    const middle = y + barHeight / 2 + 4;
    const colour = name === ours ? '#0b7a75' : '#9aa5b1';
    return [
      `<text x="${labelWidth - 8}" y="${middle}" text-anchor="end">${escape(title)}</text>`,
      `<rect x="${labelWidth}" y="${y}" width="${length}" height="${barHeight}" rx="3" fill="${colour}"/>`,
      `<text x="${(labelWidth + Number(length) + 6).toFixed(1)}" y="${middle}">${Math.round(requestsPerSecond).toLocaleString('en')}</text>`,
    ].join('');
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" role="img" aria-label="Requests per second of each contender">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...bars,
    '</svg>\n',
  ].join('\n');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
