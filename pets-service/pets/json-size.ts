/** Far more values than a pet has. A body may have unknown fields, which are ignored. */
const maxValues = 10_000;
/** JSON.parse with a reviver recurses, and overflows the stack between 2,000 and 2,500 levels. */
const maxDepth = 1000;

const [quote, backslash, comma, openBracket, openBrace, closeBracket, closeBrace] = Buffer.from('"\\,[{]}');

/**
 * Finds out whether a JSON text has too many values or levels to parse. The reviver is called for each value, so a megabyte
 * of them would block the process for half a second; this check takes a few milliseconds. Of an invalid text it says
 * nothing.
 */
export function findJsonExcess(body: Buffer): 'values' | 'depth' | undefined {
  let values = 0;
  let depth = 0;
  let inString = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (inString) {
      if (byte === backslash) index += 1;
      else if (byte === quote) inString = false;
    } else if (byte === quote) {
      inString = true;
    } else if (byte === closeBracket || byte === closeBrace) {
      depth -= 1;
    } else if (byte === comma || byte === openBracket || byte === openBrace) {
      values += 1;
      if (values > maxValues) return 'values';
      if (byte !== comma) depth += 1;
      if (depth > maxDepth) return 'depth';
    }
  }
  return undefined;
}
