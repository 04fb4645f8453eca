/** Anchor of a heading: its text in lower case with hyphens, or the code that it begins with, such as an error code. */
export function headingId(heading: string): string {
  const [, code] = /^`(\w+)`/.exec(heading) ?? [];
  if (code !== undefined) return code;
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
