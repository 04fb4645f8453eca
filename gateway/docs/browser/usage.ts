import type { WindowName } from '../../limits/windows.ts';
import { connectKeyForm, currentKey } from './api-key.ts';
import { apiRequest, errorLink } from './api-request.ts';
import { element } from './elements.ts';
import { localTime } from './local-time.ts';
import { usageChart } from './usage-chart.ts';
import { usageFacts, type Usage } from './usage-facts.ts';

const output = document.querySelector('[data-usage]');

async function refresh() {
  if (!(output instanceof HTMLElement)) return;
  if (currentKey() === '') {
    output.replaceChildren();
    return;
  }
  const response = await apiRequest(`${output.dataset['usage']}?days=30`);
  if (typeof response === 'string') {
    output.replaceChildren(element('p', { class: 'problem' }, response));
    return;
  }
  const text = await response.text();
  if (!response.ok) return output.replaceChildren(problem(response.status, text));
  const usage: Usage = JSON.parse(text);
  return output.replaceChildren(
    ...show(usage, JSON.parse(output.dataset['windows'] ?? '[]')),
    ...usageFacts(usage),
  );
}

function show(usage: Usage, windows: [name: WindowName, title: string][]) {
  const { plan, bannedUntil, days } = usage;
  return [
    element('p', {}, 'Plan: ', element('strong', {}, plan)),
    ...(bannedUntil === null
      ? []
      : [element('p', { class: 'problem' }, `This key is banned until ${localTime(bannedUntil)}.`)]),
    element(
      'div',
      { class: 'windows' },
      ...windows.flatMap(([name, title]) => {
        const window = usage[name];
        return window === undefined ? [] : [windowCard(title, window)];
      }),
    ),
    ...(days === undefined || days.length === 0 ? [] : [usageChart(days)]),
  ];
}

function windowCard(title: string, { limit, used, remaining, resetsAt }: Usage['minute']) {
  const [most, counted, left] = [limit, used, remaining].map((value) => value.toLocaleString('en'));
  return element(
    'section',
    { class: 'card' },
    element('h2', {}, title),
    element('p', { class: 'figure' }, `${counted} of ${most}`),
    element('meter', {
      min: '0',
      max: String(limit),
      high: String(limit * 0.8),
      optimum: '0',
      value: String(Math.min(used, limit)),
      'aria-label': `${title}: ${counted} of ${most} requests used`,
    }),
    element('p', { class: 'note' }, `${left} left. Resets at ${localTime(resetsAt)}.`),
  );
}

function problem(status: number, text: string) {
  const [, message = text] = /"message": *"((?:[^"\\]|\\.)*)"/.exec(text) ?? [];
  return element('p', { class: 'problem' }, `${status}: ${message} `, errorLink(text));
}

connectKeyForm(() => void refresh());
void refresh();
