/** Far more values than any pet has; unknown fields are ignored, so they may be there. */
const maxValues = 10_000;

const [quote, backslash, comma, bracket, brace] = Buffer.from('"\\,[{');

/**
 * Whether a JSON text holds more values than are worth parsing. The reviver is called for each, and a megabyte of
 * them would stop all else for half a second; this looks at a megabyte in a few milliseconds.
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
