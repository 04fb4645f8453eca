/**
 * Builds an element. Texts stay texts: nothing is read as HTML.
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {(Node | string)[]} children
 */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} [attributes]
 * @param {(Node | string)[]} children
 */
export function svgElement(name, attributes = {}, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

/**
 * @template {Element} T
 * @param {T} node
 * @param {Record<string, string | number>} attributes
 * @param {(Node | string)[]} children
 */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}
