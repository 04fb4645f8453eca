/**
 * @param {FormData} form
 * @param {string} name of a field
 */
export function formText(form, name) {
  const value = form.get(name);
  return typeof value === 'string' ? value.trim() : '';
}
