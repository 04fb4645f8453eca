/** Builds an element. Texts stay texts: nothing is read as HTML. */
export function element(
  name: string,
  attributes: Record<string, string> = {},
  ...children: (Node | string)[]
) {
  return fill(document.createElement(name), attributes, children);
}

export function svgElement(
  name: string,
  attributes: Record<string, string | number> = {},
  ...children: (Node | string)[]
) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill<T extends Element>(
  node: T,
  attributes: Record<string, string | number>,
  children: (Node | string)[],
) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** A table of texts, which scrolls by itself if it is wider than the page, and needs the focus for that. */
export function textTable(
  label: string,
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  { headed = false }: { headed?: boolean } = {},
) {
  const cell = (text: string, index: number) =>
    headed && index === 0 ? element('th', { scope: 'row' }, text) : element('td', {}, text);
  const headings = columns.map((name) => element('th', { scope: 'col' }, name));
  return element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': label },
    element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...headings)),
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map(cell)))),
    ),
  );
}
