import { html } from 'lit';
import { formatTime } from '../../../../browser/format.ts';
import type { LiveState, Problem, ProblemLink } from '../responses.ts';

const tones = { critical: 'bad', warning: 'caution', notice: '' };
const isoTime = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** What is wrong, in words, most severe first. */
export function problemList({ summary, problems }: Pick<LiveState, 'summary' | 'problems'>) {
  if (problems.length === 0)
    return html`<p class="panel well"><span class="tag good">✓</span> ${summary}</p>`;
  return html`<p>${summary}</p>
    <ul class="problems">
      ${problems.map(card)}
    </ul>`;
}

const card = ({ id, severity, title, detail, advice, link }: Problem) =>
  html`<li class="panel ${severity}" data-problem=${id}>
    <p><span class="tag ${tones[severity]}">${severity}</span> <strong>${title}</strong></p>
    <p>${withTimes(detail)}</p>
    <p>${advice} ${linkTo(link)}</p>
  </li>`;

function linkTo(link: ProblemLink) {
  if ('page' in link) return html`<a href=${link.page}>${link.text}</a>`;
  return html`What to do: “${link.heading}” in <code>${link.document}</code>`;
}

/** Shows times in a text in the viewer's zone. */
const withTimes = (text: string) =>
  text.split(isoTime).map((part, index) => (index % 2 === 1 ? formatTime(part) : part));
