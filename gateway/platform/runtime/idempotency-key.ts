import type { IncomingMessage } from 'node:http';

const name = 'Idempotency-Key';
const maxLength = 255;

/** A string of Structured Fields (RFC 9651 section 3.3.3). */
const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;

/**
 * A key without quotes, as many clients send it: visible ASCII without a comma, which joins repeated headers, and without
 * characters that quoting would escape.
 */
const bare = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

/**
 * Parses the key of draft-ietf-httpapi-idempotency-key-header-07, section 2. It is the same key with and without quotes.
 * @param invalid makes the error of a message
 * @returns undefined if the header was not sent
 * @throws what `invalid` makes
 */
export function parseIdempotencyKey(
  req: Pick<IncomingMessage, 'headers' | 'headersDistinct'>,
  invalid: (message: string) => Error,
): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  const [value = '', ...more] = req.headersDistinct['idempotency-key'] ?? [];
  const key = quoted.exec(value)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? value;
  const issue =
    more.length > 0
      ? 'must be given only once'
      : key === ''
        ? 'must not be empty'
        : !quoted.test(value) && !bare.test(value)
          ? 'must be ASCII characters in double quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"'
          : key.length > maxLength
            ? `must have at most ${maxLength} characters`
            : undefined;
  if (issue !== undefined) throw invalid(`${name} ${issue}.`);
  return key;
}
