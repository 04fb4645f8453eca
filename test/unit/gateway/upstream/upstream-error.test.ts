import { errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../../gateway/errors.ts';
import {
  isConnectionLost,
  isLocalResourceError,
  isUpstreamFault,
  upstreamError,
} from '../../../../gateway/upstream/upstream-error.ts';

const errorWithCode = (code: unknown) => Object.assign(new Error('failed'), { code });

describe('the response to an upstream error', () => {
  test.each([
    [
      'is 503 if the connection is refused',
      'ECONNREFUSED',
      503,
      'upstream_unavailable',
      { 'Retry-After': '1' },
    ],
    ['is 503 if there is no route', 'EHOSTUNREACH', 503, 'upstream_unavailable', { 'Retry-After': '1' }],
    ['is 503 if the host name is unknown', 'ENOTFOUND', 503, 'upstream_unavailable', { 'Retry-After': '1' }],
    [
      'is 503 if the name server is unavailable',
      'EAI_AGAIN',
      503,
      'upstream_unavailable',
      { 'Retry-After': '1' },
    ],
    [
      'is 503 if connecting times out',
      'UND_ERR_CONNECT_TIMEOUT',
      503,
      'upstream_unavailable',
      { 'Retry-After': '1' },
    ],
    [
      'is 503 while the gateway shuts down',
      'UND_ERR_CLOSED',
      503,
      'upstream_unavailable',
      { 'Retry-After': '1' },
    ],
    ['is 504 if no response arrives', 'UND_ERR_HEADERS_TIMEOUT', 504, 'upstream_timeout', {}],
    ['is 504 if the response stops', 'UND_ERR_BODY_TIMEOUT', 504, 'upstream_timeout', {}],
    ['is 502 if the connection is lost', 'UND_ERR_SOCKET', 502, 'upstream_error', { 'Retry-After': '1' }],
    [
      'is 502 if the response is not HTTP',
      'HPE_INVALID_CONSTANT',
      502,
      'upstream_error',
      { 'Retry-After': '1' },
    ],
    ['is 502 for a code that is not a string', 42, 502, 'upstream_error', { 'Retry-After': '1' }],
    ['is 400 for request headers that are not valid HTTP', 'UND_ERR_INVALID_ARG', 400, 'bad_request', {}],
  ])('%s', (_name, errorCode, status, code, headers) => {
    const cause = errorWithCode(errorCode);
    const gatewayError = upstreamError(cause, { safe: true });
    expect(gatewayError).toBeInstanceOf(GatewayError);
    expect(gatewayError).toMatchObject({ status, code, headers });
    expect(gatewayError.cause).toBe(cause);
  });

  test.each([['a text'], [undefined], [null], [new Error('no code')]])('is 502 if %s is thrown', (thrown) => {
    expect(upstreamError(thrown, { safe: true })).toMatchObject({ status: 502, code: 'upstream_error' });
  });

  test('has Retry-After for an unsafe request only if the upstream cannot have executed it', () => {
    const unsafe = { safe: false };
    expect(upstreamError(errorWithCode('UND_ERR_SOCKET'), unsafe)).toMatchObject({
      status: 502,
      headers: {},
    });
    // Without a connection, the request was never sent.
    expect(upstreamError(errorWithCode('ECONNREFUSED'), unsafe).headers).toEqual({ 'Retry-After': '1' });
  });

  test('has a cause for the log that contains no received data', () => {
    const error = Object.assign(new errors.HTTPParserError('Expected HTTP/'), { data: '{"name":"Rex"}' });
    expect(JSON.stringify(error)).toContain('Rex');
    const { cause } = upstreamError(error, { safe: true });
    expect(cause).toMatchObject({ message: 'Expected HTTP/' });
    expect(JSON.stringify(cause)).not.toContain('Rex');
  });

  test('has Retry-After for a request with an Idempotency-Key after any upstream error', () => {
    const idempotent = { safe: false, idempotent: true };
    for (const [code, status] of [
      ['UND_ERR_SOCKET', 502],
      ['UND_ERR_HEADERS_TIMEOUT', 504],
      ['ECONNREFUSED', 503],
    ] as const) {
      expect(upstreamError(errorWithCode(code), idempotent)).toMatchObject({
        status,
        headers: { 'Retry-After': '1' },
      });
    }
    expect(upstreamError(errorWithCode('UND_ERR_HEADERS_TIMEOUT'), { safe: false }).headers).toEqual({});
    for (const code of ['upstream_error', 'upstream_timeout'] as const) {
      expect(upstreamError(new GatewayError(code), idempotent)).toMatchObject({
        code,
        headers: { 'Retry-After': '1' },
      });
      expect(upstreamError(new GatewayError(code), { safe: false }).headers).toEqual({});
    }
    expect(upstreamError(new GatewayError('payload_too_large'), idempotent).headers).toEqual({});
  });

  test.each(['upstream_error', 'upstream_timeout'] as const)('says that a create may exist: %s', (code) => {
    const plain = new GatewayError(code).message;
    const messageFor = (retry: { safe: boolean; idempotent?: boolean }) =>
      upstreamError(new GatewayError(code), retry).message;
    expect(messageFor({ safe: true })).toBe(plain);
    expect(messageFor({ safe: false })).toBe(
      `${plain} The request may have been carried out. Look whether it was before you send it again, and give each request an Idempotency-Key.`,
    );
    expect(messageFor({ safe: false, idempotent: true })).toBe(
      `${plain} The request may have been carried out. Send it again with the same Idempotency-Key.`,
    );
  });

  test('contains nothing of the original error', () => {
    const { body } = upstreamError(
      Object.assign(new Error('connect ECONNREFUSED 10.0.0.5:3001'), { code: 'ECONNREFUSED' }),
      { safe: true },
    );
    expect(body).toEqual({
      code: 'upstream_unavailable',
      message: 'The service behind the gateway cannot be reached. Retry shortly.',
      status: 503,
    });
  });

  test('is an existing GatewayError, unchanged', () => {
    const original = new GatewayError('payload_too_large');
    expect(upstreamError(original, { safe: false })).toBe(original);
  });

  test('is 503 if all addresses of the upstream refuse the connection', () => {
    const allRefused = new AggregateError([errorWithCode('ECONNREFUSED'), errorWithCode('ECONNREFUSED')]);
    expect(upstreamError(allRefused, { safe: true })).toMatchObject({
      status: 503,
      code: 'upstream_unavailable',
    });
  });
});

test.each([
  ['UND_ERR_SOCKET', true],
  ['ECONNRESET', true],
  ['EPIPE', true],
  ['ECONNREFUSED', false],
  ['UND_ERR_HEADERS_TIMEOUT', false],
  ['UND_ERR_ABORTED', false],
])('%s means that the connection was lost: %s', (code, lost) => {
  expect(isConnectionLost(errorWithCode(code))).toBe(lost);
});

describe('the cause of an error', () => {
  test.each([
    'ECONNREFUSED',
    'EAI_AGAIN',
    'UND_ERR_CONNECT_TIMEOUT',
    'UND_ERR_HEADERS_TIMEOUT',
    'UND_ERR_BODY_TIMEOUT',
    'UND_ERR_SOCKET',
    'ECONNRESET',
    'UND_ERR_HEADERS_OVERFLOW',
    'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  ])('is the upstream for %s', (code) => {
    expect([isUpstreamFault(errorWithCode(code)), isLocalResourceError(errorWithCode(code))]).toEqual([
      true,
      false,
    ]);
  });

  test('is the upstream for a response that is not HTTP', () => {
    expect(isUpstreamFault(new errors.HTTPParserError('Expected HTTP/'))).toBe(true);
  });

  test.each(['EMFILE', 'ENFILE', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])('is the gateway for %s', (code) => {
    expect([isUpstreamFault(errorWithCode(code)), isLocalResourceError(errorWithCode(code))]).toEqual([
      false,
      true,
    ]);
  });

  test.each([
    errorWithCode('UND_ERR_ABORTED'),
    errorWithCode('UND_ERR_INVALID_ARG'),
    new GatewayError('payload_too_large'),
    new GatewayError('request_timeout'),
    new Error('client disconnected'),
  ])('is not the upstream for %s', (error) => {
    expect(isUpstreamFault(error)).toBe(false);
  });

  test.each([new GatewayError('upstream_error'), new GatewayError('upstream_timeout')])(
    'is the upstream for an invalid or missing response: %s',
    (error) => {
      expect(isUpstreamFault(error)).toBe(true);
    },
  );
});
