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

/** Upper case, since "ß" has no other form in common with "SS", nor both lower-case sigmas. */
function fold(text: string): string {
  return text.normalize('NFKC').toUpperCase().normalize('NFKC');
}
