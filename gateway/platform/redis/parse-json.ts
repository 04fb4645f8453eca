/** @returns undefined for text that is no JSON: a value that was edited by hand may be any text */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
