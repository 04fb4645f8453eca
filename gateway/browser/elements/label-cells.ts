import { noChange, type ElementPart } from 'lit';
import { Directive, directive, PartType, type PartInfo } from 'lit/directive.js';

/**
 * Gives each cell of a table the heading of its column, which a narrow screen shows in place of the columns. Roles stay those
 * of a table there, although its parts are laid out as blocks.
 */
class LabelCells extends Directive {
  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error('labelCells belongs to a <table>');
  }

  override render() {
    return noChange;
  }

  override update({ element }: ElementPart) {
    // The rows are rendered after this.
    queueMicrotask(() => {
      if (element instanceof HTMLTableElement) label(element);
    });
    return noChange;
  }
}

export const labelCells = directive(LabelCells);

const roles: Record<string, string> = { THEAD: 'rowgroup', TBODY: 'rowgroup', TR: 'row', TD: 'cell' };

function label(element: HTMLTableElement) {
  element.setAttribute('role', 'table');
  const headings = [...(element.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent.trim());
  for (const part of element.querySelectorAll('thead, tbody, tr, th, td')) {
    const scope = part.getAttribute('scope') === 'row' ? 'rowheader' : 'columnheader';
    part.setAttribute('role', roles[part.tagName] ?? scope);
  }
  for (const row of element.querySelectorAll<HTMLTableRowElement>('tbody tr')) {
    let column = 0;
    for (const cell of row.cells) {
      const text = cell.colSpan > 1 ? '' : (headings[column] ?? '');
      if (cell.dataset['label'] !== text) cell.dataset['label'] = text;
      column += cell.colSpan;
    }
  }
}
