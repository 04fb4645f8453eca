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
