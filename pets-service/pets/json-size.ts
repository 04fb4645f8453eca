/** Far more values than a pet has. A body may have unknown fields, which are ignored. */
const maxValues = 10_000;

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * Whether a JSON text has too many values to parse. The reviver is called for each, so a megabyte of them would block the
 * process for half a second; this check takes a few milliseconds.
 */
export function hasTooManyValues(body: Buffer): boolean {
  let values = 0;
  let inString = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (inString) {
      if (byte === backslash) index += 1;
      else if (byte === quote) inString = false;
    } else if (byte === quote) {
      inString = true;
    } else if (byte === comma || byte === bracket || byte === brace) {
      values += 1;
      if (values > maxValues) return true;
    }
  }
  return false;
}
