import { html } from 'lit';
import { withTimes } from '../../../browser/format.ts';
import type { LiveState, Problem, ProblemLink } from '../responses.ts';

const tones = { critical: 'bad', warning: 'caution', notice: '' };

/** What is wrong, in words, most severe first. */
export function problemList({ summary, problems }: Pick<LiveState, 'summary' | 'problems'>) {
  return html`<p><span class=${worst(problems)} aria-hidden="true">●</span> ${summary}</p>
    <ul class="problems">
      ${problems.map(row)}
    </ul>`;
}

const worst = ([problem]: readonly Problem[]) =>
  problem === undefined || problem.severity === 'notice' ? 'good' : tones[problem.severity];

const row = ({ id, severity, title, detail, advice, link }: Problem) =>
  html`<li class="panel" data-problem=${id}>
    <details>
      <summary><span class="tag ${tones[severity]}">${severity}</span> <strong>${title}</strong></summary>
      <p>${withTimes(detail)}</p>
      <p>${advice}</p>
    </details>
    <span class="quiet">${linkTo(link)}</span>
  </li>`;

function linkTo(link: ProblemLink) {
  if ('page' in link) return html`<a href=${link.page}>${link.text}</a>`;
  return html`“${link.heading}” in <code>${link.document}</code>`;
}
