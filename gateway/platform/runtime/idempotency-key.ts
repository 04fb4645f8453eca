import type { IncomingMessage } from 'node:http';

/**
 * Parses the key of draft-ietf-httpapi-idempotency-key-header-07, section 2. It is the same key with and without quotes,
 * which many clients do not send.
 * @param invalid makes the error of a message
 * @returns undefined if the header was not sent
 * @throws what `invalid` makes
 */
export function parseIdempotencyKey(
  { headersDistinct }: Pick<IncomingMessage, 'headersDistinct'>,
  invalid: (message: string) => Error,
): string | undefined {
  const [value, ...more] = headersDistinct['idempotency-key'] ?? [];
  if (value === undefined) return undefined;
  // A comma without quotes joins repeated headers.
  const pattern = /^(?:"([\x20\x21\x23-\x5b\x5d-\x7e]{1,255})"|([\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]{1,255}))$/;
  const [, quoted, bare] = pattern.exec(value) ?? [];
  const key = quoted ?? bare;
  if (more.length === 0 && key !== undefined) return key;
  throw invalid(
    'Idempotency-Key must be given once, as 1 to 255 ASCII characters other than quotes and backslashes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324".',
  );
}
