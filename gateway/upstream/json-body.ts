import { isUtf8 } from 'node:buffer';

const closing = new Map([
  [0x7b, 0x7d],
  [0x5b, 0x5d],
]);

/**
 * Whether a body looks like a JSON object or array in UTF-8 (RFC 8259 section 8.1): only the encoding and the brackets at
 * both ends are checked, which tell it from a page of HTML, a message in plain text and a truncated body. Parsing a page of
 * 100 pets would cost half as much as the rest of its request.
 */
export function isJsonBody(body: Buffer): boolean {
  if (!isUtf8(body)) return false;
  const [first = 0, last] = [body.find(isNoSpace), body.findLast(isNoSpace)];
  return last !== undefined && closing.get(first) === last;
}

/** The code at the beginning of an Error body; undefined for a body that does not begin so. */
export function errorCodeOf(body: Buffer): string | undefined {
  return /^\s*\{\s*"code"\s*:\s*"([a-z_]{1,40})"/.exec(body.toString('latin1', 0, 80))?.[1];
}

function isNoSpace(byte: number): boolean {
  return byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d;
}
