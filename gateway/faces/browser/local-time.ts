/** Values of datetime-local fields, which are in the viewer's zone. */

/** @param local value of a field */
export function isoTime(local: string) {
  const date = new Date(local);
  return local === '' || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

export function localTime(iso: string) {
  const date = new Date(iso);
  if (iso === '' || Number.isNaN(date.getTime())) return '';
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 19);
}
