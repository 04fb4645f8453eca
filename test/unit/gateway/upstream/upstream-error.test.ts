import { errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../../gateway/errors.ts';
import {
  isLocalResourceError,
  isUpstreamFault,
  TooManyStreams,
  upstreamError,
} from '../../../../gateway/upstream/upstream-error.ts';

const errorWithCode = (code: unknown) => Object.assign(new Error('failed'), { code });
const retryAfter = { 'Retry-After': '1' };

/** Errors by their code: the response, and whose fault they are. */
const table: [what: string, code: unknown, error: string, fault: 'upstream' | 'gateway' | 'nobody'][] = [
  ['the connection is refused', 'ECONNREFUSED', 'upstream_unavailable', 'upstream'],
  ['the host name is unknown', 'ENOTFOUND', 'upstream_unavailable', 'upstream'],
  ['connecting times out', 'UND_ERR_CONNECT_TIMEOUT', 'upstream_unavailable', 'upstream'],
  ['the process has no file descriptors left', 'EMFILE', 'upstream_unavailable', 'gateway'],
  ['the system has no file descriptors left', 'ENFILE', 'upstream_unavailable', 'gateway'],
  ['the gateway shuts down', 'UND_ERR_CLOSED', 'upstream_unavailable', 'gateway'],
  ['no response arrives', 'UND_ERR_HEADERS_TIMEOUT', 'upstream_timeout', 'upstream'],
  ['the connection is lost', 'UND_ERR_SOCKET', 'upstream_error', 'upstream'],
  ['the connection is reset', 'ECONNRESET', 'upstream_error', 'upstream'],
  ['the headers are too large', 'UND_ERR_HEADERS_OVERFLOW', 'upstream_error', 'upstream'],
  ['the code is not a string', 42, 'upstream_error', 'nobody'],
  ['the request was aborted', 'UND_ERR_ABORTED', 'upstream_error', 'nobody'],
  ['the headers of the request are not valid HTTP', 'UND_ERR_INVALID_ARG', 'bad_request', 'nobody'],
];

test.each(table)('if %s (%s), the response is %s, and the fault of %s', (_what, code, expected, fault) => {
  const cause = errorWithCode(code);
  const error = upstreamError(cause, { safe: true });
  expect(error).toMatchObject({ code: expected, cause });
  expect(error.headers).toEqual(expected === 'bad_request' ? {} : retryAfter);
  expect([isUpstreamFault(cause), isLocalResourceError(cause)]).toEqual([
    fault === 'upstream',
    fault === 'gateway',
  ]);
});

describe('the response to an upstream error', () => {
  test.each([['a text'], [undefined], [null], [new Error('no code')]])('is 502 if %s is thrown', (thrown) => {
    expect(upstreamError(thrown, { safe: true })).toMatchObject({ status: 502, code: 'upstream_error' });
  });

  test('has Retry-After for an unsafe request only with an Idempotency-Key, or if it was never sent', () => {
    const headersOf = (error: unknown, idempotent: boolean) =>
      upstreamError(error, { safe: false, idempotent }).headers;
    expect(headersOf(errorWithCode('ECONNREFUSED'), false)).toEqual(retryAfter);
    for (const error of [
      errorWithCode('UND_ERR_SOCKET'),
      errorWithCode('UND_ERR_HEADERS_TIMEOUT'),
      new GatewayError('upstream_error'),
      new GatewayError('upstream_timeout'),
    ]) {
      expect([headersOf(error, false), headersOf(error, true)]).toEqual([{}, retryAfter]);
    }
    expect(headersOf(new GatewayError('payload_too_large'), true)).toEqual({});
    // The specification gives each 429 one (section 8.4).
    expect(headersOf(new TooManyStreams(), false)).toMatchObject(retryAfter);
  });

  test.each(['upstream_error', 'upstream_timeout'] as const)('says that a create may exist: %s', (code) => {
    const plain = new GatewayError(code).message;
    const messageFor = (retry: { safe: boolean; idempotent?: boolean }) =>
      upstreamError(new GatewayError(code), retry).message;
    expect(messageFor({ safe: true })).toBe(plain);
    expect(messageFor({ safe: false })).toBe(
      `${plain} The request may have been carried out. Look whether it was before you send it again.`,
    );
    expect(messageFor({ safe: false, idempotent: false })).toBe(
      `${plain} The request may have been carried out. Look whether it was before you send it again, and give each request an Idempotency-Key.`,
    );
    expect(messageFor({ safe: false, idempotent: true })).toBe(
      `${plain} The request may have been carried out. Send it again with the same Idempotency-Key.`,
    );
  });

  test('contains nothing of the original error, and its cause for the log no received data', () => {
    const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:3001'), { code: 'ECONNREFUSED' });
    expect(upstreamError(refused, { safe: true }).body).toEqual({
      code: 'upstream_unavailable',
      message: 'The service behind the gateway cannot be reached. Retry shortly.',
      status: 503,
    });
    const error = Object.assign(new errors.HTTPParserError('Expected HTTP/'), { data: '{"name":"Rex"}' });
    expect(JSON.stringify(error)).toContain('Rex');
    const { cause } = upstreamError(error, { safe: true });
    expect(cause).toMatchObject({ message: 'Expected HTTP/' });
    expect(JSON.stringify(cause)).not.toContain('Rex');
  });

  test('is 503 if all addresses of the upstream refuse the connection', () => {
    const allRefused = new AggregateError([errorWithCode('ECONNREFUSED'), errorWithCode('ECONNREFUSED')]);
    expect(upstreamError(allRefused, { safe: true })).toMatchObject({ code: 'upstream_unavailable' });
  });
});

test('a failure is of the upstream by its code of the gateway, or if it is not HTTP', () => {
  const codes = ['upstream_error', 'upstream_timeout', 'payload_too_large', 'request_timeout'] as const;
  const faults = codes.filter((code) => isUpstreamFault(new GatewayError(code)));
  expect(faults).toEqual(['upstream_error', 'upstream_timeout']);
  expect(isUpstreamFault(new errors.HTTPParserError('Expected HTTP/'))).toBe(true);
  expect(isUpstreamFault(new Error('client disconnected'))).toBe(false);
});
