/** A time in ISO 8601 as people of this browser's language and time zone write it. */
export function localTime(iso: string): string {
  return new Date(iso).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });
}
