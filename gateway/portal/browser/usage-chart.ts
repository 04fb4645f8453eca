import { element, svgElement, textTable } from '../../docs/browser/elements.ts';
import type { DayUsage } from '../../quota/usage-days.ts';

const width = 600;
const height = 160;
const gap = 4;

/**
 * Chart and table of the requests of each day.
 * @param days ascending, today last
 */
export function usageChart(days: DayUsage[]) {
  const heading = element('h2', {}, `The last ${days.length} days`);
  const highest = Math.max(...days.map(({ served, refused }) => served + refused));
  if (highest === 0)
    return element('div', { class: 'usage-days' }, heading, element('p', {}, 'No requests on these days.'));
  const served = days.reduce((sum, day) => sum + day.served, 0);
  const refused = days.reduce((sum, day) => sum + day.refused, 0);
  const units = days.reduce((sum, day) => sum + (day.units ?? day.served), 0);
  const summary = `${count(served)} served${costOf({ served, units })} and ${count(refused)} refused requests in ${days.length} days`;
  const bar = width / days.length;
  const bars = days.map((day, index) => {
    const servedHeight = (day.served / highest) * height;
    const refusedHeight = (day.refused / highest) * height;
    const place = { x: index * bar + gap / 2, width: bar - gap };
    return svgElement(
      'g',
      {},
      svgElement('title', {}, describe(day)),
      // Takes the pointer above a low bar, too.
      svgElement('rect', { ...place, y: 0, height, class: 'track' }),
      svgElement('rect', { ...place, y: height - servedHeight, height: servedHeight, class: 'served' }),
      svgElement('rect', {
        ...place,
        y: height - servedHeight - refusedHeight,
        height: refusedHeight,
        class: 'refused',
      }),
    );
  });
  return element(
    'div',
    { class: 'usage-days' },
    heading,
    element('p', {}, `${summary}. The busiest day had ${count(highest)}.`),
    svgElement('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': summary }, ...bars),
    element(
      'p',
      { class: 'axis' },
      element('span', {}, days[0]?.date ?? ''),
      element('span', {}, days.at(-1)?.date ?? ''),
    ),
    element(
      'p',
      { class: 'legend' },
      element('span', { class: 'served' }, 'served'),
      element('span', { class: 'refused' }, 'refused'),
    ),
    element('details', {}, element('summary', {}, 'The same as a table'), table(days)),
  );
}

function table(days: DayUsage[]) {
  const rows = days
    .toReversed()
    .map(({ date, plan, served, units, refused, bannedSeconds }) => [
      date,
      plan ?? '–',
      `${count(served)}${costOf({ served, units })}`,
      count(refused),
      bannedSeconds === 0 ? '–' : `${count(bannedSeconds)} s`,
    ]);
  return textTable('Requests by day', ['date (UTC)', 'plan', 'served', 'refused', 'banned'], rows, {
    headed: true,
  });
}

/** What requests cost, if that is more than one each. */
function costOf({ served, units = served }: { served: number; units: number | undefined }) {
  return units === served ? '' : ` at a cost of ${count(units)}`;
}

function describe({ date, served, units, refused, bannedSeconds }: DayUsage) {
  const banned = bannedSeconds === 0 ? '' : `, banned for ${count(bannedSeconds)} s`;
  return `${date}: ${count(served)} served${costOf({ served, units })}, ${count(refused)} refused${banned}`;
}

function count(value: number) {
  return value.toLocaleString('en');
}
