/*
 * int64 over its whole range, while a JavaScript number is exact up to 2^53 only. Node passes the source text of
 * each JSON number to the reviver, and JSON.rawJSON writes one out digit for digit.
 */
declare global {
  // Of ECMAScript's JSON.parse source text access; TypeScript's library does not list it yet.
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;

const jsonNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const maxDigits = 19;

/**
 * The integer that a JSON number stands for, by value: 1.0 and 1e3 are integers too.
 * @returns undefined for a fraction and for what lies outside int64
 */
export function parseInt64(source: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = jsonNumber.exec(source) ?? [];
  if (whole === '') return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return 0n;
  const significant = withoutTrailingZeros(digits);
  const exponent = Number(exponentText) - fraction.length + (digits.length - significant.length);
  if (exponent < 0 || significant.length + exponent > maxDigits) return undefined;
  const value = BigInt(`${sign}${significant}${'0'.repeat(exponent)}`);
  return value >= min && value <= max ? value : undefined;
}

/** In linear time, which the obvious /0+$/ is not: a body may hold a million zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** For JSON.parse: numbers become bigint where they are int64 by value, and stay numbers otherwise. */
export function int64Reviver(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? (parseInt64(context?.source ?? '') ?? value) : value;
}

/**
 * What JSON.stringify writes as that integer. Most are exact as numbers, which it is quickest with; and without a
 * replacer, which it would call for each value, a page of pets takes a quarter of the time.
 */
export function int64Json(value: bigint): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(value.toString());
}
