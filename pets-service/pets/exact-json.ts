import { PetsError } from '../errors.ts';

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

const jsonNumber = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Digits of the largest int64. */
const maxDigits = 19;

/**
 * Parses a JSON number by its value: 1.0 and 1e3 are integers, too. Takes linear time: a body may contain a million digits.
 * @returns undefined for a fraction and for a value outside int64
 */
export function parseInt64(source: string): bigint | undefined {
  const [, sign = '', whole = '', fraction = '', exponentText = '0'] = jsonNumber.exec(source) ?? [];
  if (whole === '') return undefined;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  if (digits === '') return 0n;
  const rest = digits.slice(maxDigits);
  const exponent = Number(exponentText) - fraction.length + rest.length;
  if (/[1-9]/.test(rest) || Math.abs(exponent) > maxDigits) return undefined;
  const significant = BigInt(`${sign}${digits.slice(0, maxDigits)}`);
  const power = 10n ** BigInt(Math.abs(exponent));
  if (exponent < 0 && significant % power !== 0n) return undefined;
  const value = exponent < 0 ? significant / power : significant * power;
  return BigInt.asIntN(64, value) === value ? value : undefined;
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

/** Far more values than a pet has. The reviver is called for each: a megabyte of them would block the process for half a second. */
const maxValues = 10_000;

/** Refuses invalid bytes, for which decoding would otherwise store replacement characters. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses JSON with its integers as bigint.
 * @param body of express.raw, which has no Buffer if there is no body
 * @returns undefined for an absent or empty body
 * @throws PetsError invalid_json or invalid_request
 */
export function parseExactJson(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    throw new PetsError('invalid_json', { message: 'The request body is not valid UTF-8.' });
  }
  const withoutStrings = text.replaceAll(/"[^"\\]*(?:\\.[^"\\]*)*"?/gs, '');
  if (withoutStrings.split(/[[{,]/, maxValues + 2).length > maxValues + 1)
    throw excess('has more than 10,000 values');
  try {
    return JSON.parse(text, int64Reviver);
  } catch (error) {
    // With a reviver JSON.parse recurses: the stack overflows between 2,000 and 2,500 levels.
    if (error instanceof RangeError) throw excess('is nested too deeply');
    throw new PetsError('invalid_json');
  }
}

const excess = (issue: string) => new PetsError('invalid_request', { message: `The request body ${issue}.` });
