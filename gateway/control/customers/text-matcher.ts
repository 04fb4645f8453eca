/**
 * @param part empty to match every text
 * @returns a function that tells whether a text contains the part, whatever the case and the Unicode form of either
 */
export function textMatcher(part: string): (text: string) => boolean {
  const wanted = fold(part.trim());
  return (text) => fold(text).includes(wanted);
}

/** Whether two texts are the same but for case and Unicode form. */
export function isSameText(one: string, other: string): boolean {
  return fold(one.trim()) === fold(other.trim());
}

// oxlint-disable-next-line no-control-regex
const isAscii = /^[\u0000-\u007f]*$/;

/** Upper case, since "ß" has no other form in common with "SS", nor both lower-case sigmas. */
function fold(text: string): string {
  // Most names are ASCII, which has one form only; to search 100,000 keys takes half the time.
  if (isAscii.test(text)) return text.toUpperCase();
  return text.normalize('NFKC').toUpperCase().normalize('NFKC');
}
