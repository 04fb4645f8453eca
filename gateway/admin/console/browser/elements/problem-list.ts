import { html, nothing } from 'lit';
import { formatTime, plural } from '../../../../browser/format.ts';
import { documentPath } from '../documents.ts';
import type { LiveState, Problem, ProblemLink } from '../responses.ts';

const tones = { critical: 'bad', warning: 'caution', notice: '' };
const isoTime = /(\d{4}-\d\d-\d\dT[\d:.]+Z)/;

/** What is wrong, in words, most severe first. */
export function problemList({
  summary,
  problems,
  traffic,
}: Pick<LiveState, 'summary' | 'problems' | 'traffic'>) {
  const past = problems.filter((problem) => problem.past);
  const lasting = problems.filter((problem) => !problem.past);
  // In the first second, not all is read.
  if (lasting.length === 0 && traffic === null)
    return html`<p class="panel well">Reading the state of all gateways…</p>`;
  return html`${lasting.length === 0 ? html`<p class="panel well"><span class="tag good">✓</span> ${summary}</p>` : html`<p>${summary}</p>`}
  ${cards(lasting)}
  ${
    past.length === 0
      ? nothing
      : html`<details>
          <summary>${plural(past.length, 'problem')} of the last 15 minutes, over</summary>
          ${cards(past)}
        </details>`
  }`;
}

const cards = (problems: readonly Problem[]) =>
  problems.length === 0
    ? nothing
    : html`<ul class="problems">
        ${problems.map(
          ({ id, severity, title, detail, advice, link }) =>
            html`<li class="panel ${severity}" data-problem=${id}>
              <p><span class="tag ${tones[severity]}">${severity}</span> <strong>${title}</strong></p>
              <p>${withTimes(detail)}</p>
              <p>${advice} ${linkTo(link)}</p>
            </li>`,
        )}
      </ul>`;

function linkTo(link: ProblemLink) {
  if ('page' in link) return html`<a href=${link.page}>${link.text}</a>`;
  return html`<a href=${documentPath(link.document, link.heading)}>What to do: ${link.heading}</a>`;
}

/** Shows times in a text in the viewer's zone. */
const withTimes = (text: string) =>
  text.split(isoTime).map((part, index) => (index % 2 === 1 ? formatTime(part) : part));
