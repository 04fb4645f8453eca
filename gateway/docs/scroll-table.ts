import { html, type Html } from './html.ts';

/**
 * A table that scrolls on narrow screens, also by keyboard.
 * @param label what the table is about, for screen readers
 * @param rows elements `tr`
 */
export function scrollTable(label: string, headings: readonly string[], rows: readonly Html[]): Html {
  return html`<div class="scroll" tabindex="0" role="group" aria-label="${label}">
    <table>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}
