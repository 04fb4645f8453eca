/*
 * int64 over its whole range. A JavaScript number is exact up to 2^53 only, but JSON.parse passes the source text of each
 * number to the reviver, and JSON.rawJSON writes a text unchanged.
 */
declare global {
  // ECMAScript's JSON.parse source text access, which TypeScript's library does not declare yet.
  interface JSON {
    rawJSON(text: string): unknown;
  }
}

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;

const jsonNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

const maxDigits = 19;

/**
 * Parses a JSON number by its value: 1.0 and 1e3 are integers, too.
 * @returns undefined for a fraction and for a value outside int64
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

/** Takes linear time, unlike /0+$/: a body may contain a million zeros. */
function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Reviver for JSON.parse: a number becomes a bigint if it is an int64 by value. */
export function int64Reviver(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? (parseInt64(context?.source ?? '') ?? value) : value;
}

/**
 * The integer for JSON.stringify. A number is fastest if it is exact. A replacer, which would be called for each value,
 * would make a page of pets take four times as long.
 */
export function int64Json(value: bigint): unknown {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : JSON.rawJSON(value.toString());
}
