import { errors } from 'undici';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../../../gateway/errors.ts';
import {
  isConnectionLost,
  isLocalResourceError,
  isUpstreamFault,
  upstreamError,
} from '../../../../gateway/upstream/upstream-error.ts';

const coded = (code: unknown) => Object.assign(new Error('failed'), { code });

describe('the client is told', () => {
  test.each([
    ['503 where nobody listens', 'ECONNREFUSED', 503, 'upstream_unavailable', { 'Retry-After': '1' }],
    ['503 where there is no route', 'EHOSTUNREACH', 503, 'upstream_unavailable', { 'Retry-After': '1' }],
    ['503 where the name is unknown', 'ENOTFOUND', 503, 'upstream_unavailable', { 'Retry-After': '1' }],
    ['503 where the name server is away', 'EAI_AGAIN', 503, 'upstream_unavailable', { 'Retry-After': '1' }],
    [
      '503 where connecting takes too long',
      'UND_ERR_CONNECT_TIMEOUT',
      503,
      'upstream_unavailable',
      { 'Retry-After': '1' },
    ],
    [
      '503 while the gateway shuts down',
      'UND_ERR_CLOSED',
      503,
      'upstream_unavailable',
      { 'Retry-After': '1' },
    ],
    ['504 where no answer comes', 'UND_ERR_HEADERS_TIMEOUT', 504, 'upstream_timeout', {}],
    ['504 where the answer stops', 'UND_ERR_BODY_TIMEOUT', 504, 'upstream_timeout', {}],
    ['502 where the connection is cut', 'UND_ERR_SOCKET', 502, 'upstream_error', { 'Retry-After': '1' }],
    [
      '502 where the answer is no HTTP',
      'HPE_INVALID_CONSTANT',
      502,
      'upstream_error',
      { 'Retry-After': '1' },
    ],
    ['502 for a code that is no text', 42, 502, 'upstream_error', { 'Retry-After': '1' }],
    ['400 for headers that are no HTTP', 'UND_ERR_INVALID_ARG', 400, 'bad_request', {}],
  ])('%s', (_name, errorCode, status, code, headers) => {
    const cause = coded(errorCode);
    const fault = upstreamError(cause, { safe: true });
    expect(fault).toBeInstanceOf(GatewayError);
    expect(fault).toMatchObject({ status, code, headers });
    expect(fault.cause).toBe(cause);
  });

  test.each([['a text'], [undefined], [null], [new Error('no code')]])('502 for %s as an error', (thrown) => {
    expect(upstreamError(thrown, { safe: true })).toMatchObject({ status: 502, code: 'upstream_error' });
  });

  test('to retry what may have been carried out only where that does no harm', () => {
    const unsafe = { safe: false };
    expect(upstreamError(coded('UND_ERR_SOCKET'), unsafe)).toMatchObject({ status: 502, headers: {} });
    // It was never sent.
    expect(upstreamError(coded('ECONNREFUSED'), unsafe).headers).toEqual({ 'Retry-After': '1' });
  });

  test('and the log nothing of what came over the wire', () => {
    const error = Object.assign(new errors.HTTPParserError('Expected HTTP/'), { data: '{"name":"Rex"}' });
    expect(JSON.stringify(error)).toContain('Rex');
    const { cause } = upstreamError(error, { safe: true });
    expect(cause).toMatchObject({ message: 'Expected HTTP/' });
    expect(JSON.stringify(cause)).not.toContain('Rex');
  });

  test('to retry a request with an Idempotency-Key, whatever became of it', () => {
    const idempotent = { safe: false, idempotent: true };
    for (const [code, status] of [
      ['UND_ERR_SOCKET', 502],
      ['UND_ERR_HEADERS_TIMEOUT', 504],
      ['ECONNREFUSED', 503],
    ] as const) {
      expect(upstreamError(coded(code), idempotent)).toMatchObject({
        status,
        headers: { 'Retry-After': '1' },
      });
    }
    expect(upstreamError(coded('UND_ERR_HEADERS_TIMEOUT'), { safe: false }).headers).toEqual({});
    for (const code of ['upstream_error', 'upstream_timeout'] as const) {
      expect(upstreamError(new GatewayError(code), idempotent)).toMatchObject({
        code,
        headers: { 'Retry-After': '1' },
      });
      expect(upstreamError(new GatewayError(code), { safe: false }).headers).toEqual({});
    }
    expect(upstreamError(new GatewayError('payload_too_large'), idempotent).headers).toEqual({});
  });

  test('nothing of the error itself', () => {
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

  test('what was decided before, unchanged', () => {
    const decided = new GatewayError('payload_too_large');
    expect(upstreamError(decided, { safe: false })).toBe(decided);
  });

  test('503 where all addresses of the upstream refuse', () => {
    const all = new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]);
    expect(upstreamError(all, { safe: true })).toMatchObject({ status: 503, code: 'upstream_unavailable' });
  });
});

test.each([
  ['UND_ERR_SOCKET', true],
  ['ECONNRESET', true],
  ['EPIPE', true],
  ['ECONNREFUSED', false],
  ['UND_ERR_HEADERS_TIMEOUT', false],
  ['UND_ERR_ABORTED', false],
])('whether the connection was lost on %s: %s', (code, lost) => {
  expect(isConnectionLost(coded(code))).toBe(lost);
});

describe('who is to blame', () => {
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
  ])('the upstream for %s', (code) => {
    expect([isUpstreamFault(coded(code)), isLocalResourceError(coded(code))]).toEqual([true, false]);
  });

  test('the upstream for what the parser of HTTP does not understand', () => {
    expect(isUpstreamFault(new errors.HTTPParserError('Expected HTTP/'))).toBe(true);
  });

  test.each(['EMFILE', 'ENFILE', 'UND_ERR_CLOSED', 'UND_ERR_DESTROYED'])('ourselves for %s', (code) => {
    expect([isUpstreamFault(coded(code)), isLocalResourceError(coded(code))]).toEqual([false, true]);
  });

  test.each([
    coded('UND_ERR_ABORTED'),
    coded('UND_ERR_INVALID_ARG'),
    new GatewayError('payload_too_large'),
    new GatewayError('request_timeout'),
    new Error('the client went away'),
  ])('the client, and not the upstream, for %s', (error) => {
    expect(isUpstreamFault(error)).toBe(false);
  });

  test.each([new GatewayError('upstream_error'), new GatewayError('upstream_timeout')])(
    'the upstream for an answer that is none, %s',
    (error) => {
      expect(isUpstreamFault(error)).toBe(true);
    },
  );
});
