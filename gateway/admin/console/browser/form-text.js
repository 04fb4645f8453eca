/**
 * A text field of a form, without spaces around it.
 * @param {FormData} data
 * @param {string} name
 */
export function formText(data, name) {
  const value = data.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
