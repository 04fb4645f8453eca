import type { IncomingMessage } from 'node:http';
import { PetsError } from '../errors.ts';

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
 * @returns undefined if the header was not sent
 * @throws PetsError invalid_request
 */
export function parseIdempotencyKey({ headersDistinct }: IncomingMessage): string | undefined {
  const [value, ...more] = headersDistinct['idempotency-key'] ?? [];
  if (value === undefined) return undefined;
  const key = quoted.exec(value)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? value;
  if (more.length > 0) throw invalid('must be given only once');
  if (key === '') throw invalid('must not be empty');
  if (!quoted.test(value) && !bare.test(value)) {
    throw invalid(
      'must be ASCII characters in double quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"',
    );
  }
  if (key.length > maxLength) throw invalid(`must have at most ${maxLength} characters`);
  return key;
}

const invalid = (issue: string) => new PetsError('invalid_request', { message: `Idempotency-Key ${issue}.` });
