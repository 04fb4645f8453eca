import { PetsError } from '../errors.ts';
import { int64Reviver } from './int64.ts';

/** Far more values than a pet has. A body may have unknown fields, which are ignored. */
const maxValues = 10_000;
/** JSON.parse with a reviver recurses, and overflows the stack between 2,000 and 2,500 levels. */
const maxDepth = 1000;

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
  assertSmall(body);
  try {
    return JSON.parse(utf8.decode(body), int64Reviver);
  } catch (error) {
    if (error instanceof SyntaxError) throw new PetsError('invalid_json');
    throw new PetsError('invalid_json', { message: 'The request body is not valid UTF-8.' });
  }
}

const [quote, backslash, comma, openBracket, openBrace, closeBracket, closeBrace] = Buffer.from('"\\,[{]}');

/**
 * Refuses a JSON text with too many values or levels to parse. The reviver is called for each value, so a megabyte of
 * them would block the process for half a second; this check takes a few milliseconds. Of an invalid text it says nothing.
 */
function assertSmall(body: Buffer): void {
  let values = 0;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (byte === backslash) index += 1;
    else if (byte === quote) inString = !inString;
    if (inString) continue;
    if (byte === closeBracket || byte === closeBrace) depth -= 1;
    const opens = byte === openBracket || byte === openBrace;
    if (opens) depth += 1;
    if (opens || byte === comma) values += 1;
    if (values > maxValues) throw excess('has more than 10,000 values');
    if (depth > maxDepth) throw excess('is nested too deeply: it has more than 1,000 levels');
  }
}

const excess = (issue: string) => new PetsError('invalid_request', { message: `The request body ${issue}.` });
