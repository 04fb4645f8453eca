import { html, nothing } from 'lit';
import type { AuditEntry } from '../responses.ts';
import type { ChartArea } from './chart-options.ts';

/** What has happened at a time, such as a change by an operator. */
export interface ChartMark {
  /** Unix seconds. */
  at: number;
  text: string;
}

const clock = new Intl.DateTimeFormat(undefined, { dateStyle: 'short', timeStyle: 'medium' });

/**
 * Marks for changes by operators.
 * @param entries newest first
 */
export const entryMarks = (entries: readonly AuditEntry[]): ChartMark[] =>
  entries
    .map(({ at, who, action, target, targetName }) => ({
      at: Date.parse(at) / 1000,
      text: `${clock.format(new Date(at))} · ${who}: ${action} ${targetName ?? target}`,
    }))
    .toReversed();

/** Marks that are nearer to each other are one. */
const minDistancePx = 12;
const maxLines = 6;
/** Between a mark and its text, which must not make the page wider. */
const textGapPx = 12;

/**
 * Marks over a chart, each with a text that appears under the mouse and with the focus.
 * @param marks oldest first
 * @param isQuiet whether the keyboard passes over them
 */
export function chartMarks(marks: readonly ChartMark[], area: ChartArea, isQuiet: boolean) {
  const groups = groupMarks(marks, area);
  if (groups.length === 0) return nothing;
  return html`<ul
    class="marks"
    aria-label="Changes"
    .style=${`left: ${area.left}px; top: ${area.top}px; width: ${area.width}px; height: ${area.height}px`}
  >
    ${groups.map(
      ({ left, texts }) =>
        html`<li class=${left > area.width / 2 ? 'late' : ''} .style=${`left: ${left}px`}>
          <button type="button" tabindex=${isQuiet ? -1 : 0}>
            <span class="mark-text" .style=${`max-width: ${Math.max(left, area.width - left) - textGapPx}px`}
              >${texts.slice(0, maxLines).map((text) => html`<span>${text}</span>`)}${
                texts.length > maxLines ? html`<span>and ${texts.length - maxLines} more</span>` : nothing
              }</span
            >
          </button>
        </li>`,
    )}
  </ul>`;
}

/** @returns marks within the area with their distance from its left side, in pixels */
export function groupMarks(
  marks: readonly ChartMark[],
  { from, to, width }: Pick<ChartArea, 'from' | 'to' | 'width'>,
): { left: number; texts: string[] }[] {
  const groups: { left: number; texts: string[] }[] = [];
  for (const { at, text } of marks) {
    if (at < from || at > to || from === to) continue;
    const left = Math.round(((at - from) / (to - from)) * width);
    const last = groups.at(-1);
    if (last !== undefined && left - last.left < minDistancePx) last.texts.push(text);
    else groups.push({ left, texts: [text] });
  }
  return groups;
}
