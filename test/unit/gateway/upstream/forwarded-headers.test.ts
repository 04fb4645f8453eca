import { describe, expect, test } from 'vitest';
import { upstreamRequestHeaders } from '../../../../gateway/upstream/forwarded-headers.ts';
import { clientResponseHeaders } from '../../../support/http/client-response-headers.ts';

const base = {
  peerAddress: '203.0.113.7',
  peerIsTrusted: false,
  authorization: 'Bearer internal',
  requestId: 'req-1',
  hasBody: false,
};

const own = {
  authorization: 'Bearer internal',
  'x-request-id': 'req-1',
  'x-forwarded-for': '203.0.113.7',
  'x-forwarded-host': 'api.example',
  'x-forwarded-proto': 'http',
};

/** As lists of values, so that a header that is sent twice shows. */
function sent(rawHeaders: string[], given: Partial<typeof base> = {}): Record<string, string[]> {
  const names: Record<string, string[]> = {};
  const flat = upstreamRequestHeaders({
    ...base,
    rawHeaders: ['Host', 'api.example', ...rawHeaders],
    ...given,
  });
  for (let index = 0; index < flat.length; index += 2) {
    (names[flat[index] ?? ''] ??= []).push(flat[index + 1] ?? '');
  }
  return names;
}

const lists = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

describe('the upstream receives', () => {
  test("the client's end-to-end headers, repeated ones included, and the gateway's own", () => {
    expect(sent(['Accept', 'application/json', 'Cookie', 'a=1', 'Cookie', 'b=2'])).toEqual({
      accept: ['application/json'],
      cookie: ['a=1', 'b=2'],
      ...lists(own),
    });
  });

  test.each([
    ['Connection', 'close'],
    ['Keep-Alive', 'timeout=5'],
    ['Proxy-Authenticate', 'Basic'],
    ['Proxy-Authorization', 'Basic eA=='],
    ['Proxy-Connection', 'keep-alive'],
    ['TE', 'trailers'],
    ['Trailer', 'X-Sum'],
    ['Transfer-Encoding', 'chunked'],
    ['Upgrade', 'websocket'],
    ['Expect', '100-continue'],
  ])('no %s, which is for one connection only', (name, value) => {
    expect(sent([name, value], { hasBody: true })).toEqual(lists(own));
  });

  test('no header that Connection names, in any case, over several fields', () => {
    const rawHeaders = ['Connection', 'keep-alive, X-Secret', 'connection', ' x-OTHER ', 'X-Secret', '1'];
    expect(sent([...rawHeaders, 'x-other', '2', 'X-Kept', '3'])).toEqual({ 'x-kept': ['3'], ...lists(own) });
  });

  test.each([
    'authorization',
    'x-request-id',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'host',
  ])("the gateway's own headers, though Connection names %s", (name) => {
    expect(sent(['Connection', name])).toEqual(lists(own));
  });

  test('a Content-Length, though Connection names it', () => {
    expect(sent(['Connection', 'content-length', 'Content-Length', '5'], { hasBody: true })).toEqual({
      'content-length': ['5'],
      ...lists(own),
    });
  });

  test('an underscore where it stands for nothing else', () => {
    expect(sent(['X_Kept', 'yes'])).toEqual({ x_kept: ['yes'], ...lists(own) });
  });

  test('no Content-Length without a body', () => {
    expect(sent(['Content-Length', '0'])).toEqual(lists(own));
  });

  test("neither the client's API key nor its request id", () => {
    expect(sent(['Authorization', 'Bearer pets_x', 'AUTHORIZATION', 'b', 'X-Request-Id', 'forged'])).toEqual(
      lists(own),
    );
  });

  test.each([
    ['Forwarded', 'for=10.0.0.1'],
    ['X-Forwarded-For', '10.0.0.1'],
    ['X-Forwarded-Host', 'evil.example'],
    ['X-Forwarded-Port', '443'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded-Prefix', '/admin'],
    ['X-Forwarded-Scheme', 'https'],
    ['X-Forwarded-Server', 'evil.example'],
    ['X-Forwarded-Ssl', 'on'],
    ['X-Real-IP', '10.0.0.1'],
    ['x_forwarded_for', '10.0.0.1'],
    ['X_Forwarded-For', '10.0.0.1'],
    ['x_real_ip', '10.0.0.1'],
    ['x_request_id', 'forged'],
    ['transfer_encoding', 'chunked'],
    ['content_length', '5'],
  ])("no %s of a client's making", (name, value) => {
    expect(sent([name, value])).toEqual(lists(own));
  });
});

describe('a trusted proxy', () => {
  const trusted = { peerAddress: '10.0.0.2', peerIsTrusted: true };

  test('is believed about the origin, and added to the path', () => {
    const rawHeaders = ['X-Forwarded-For', '198.51.100.9, 10.0.0.1', 'X-Forwarded-Host', 'shop.example'];
    expect(sent([...rawHeaders, 'X-Forwarded-Proto', 'https'], trusted)).toEqual(
      lists({
        ...own,
        'x-forwarded-for': '198.51.100.9, 10.0.0.1, 10.0.0.2',
        'x-forwarded-host': 'shop.example',
        'x-forwarded-proto': 'https',
      }),
    );
  });

  test('may spread X-Forwarded-For over several fields', () => {
    const rawHeaders = ['X-Forwarded-For', '198.51.100.9', 'x-forwarded-for', '10.0.0.1'];
    expect(sent(rawHeaders, trusted)['x-forwarded-for']).toEqual(['198.51.100.9, 10.0.0.1, 10.0.0.2']);
  });

  test('is not believed about what its own Connection header keeps from us', () => {
    const rawHeaders = ['Connection', 'X-Forwarded-For', 'X-Forwarded-For', '198.51.100.9'];
    expect(sent(rawHeaders, trusted)).toEqual(lists({ ...own, 'x-forwarded-for': '10.0.0.2' }));
  });

  test('that says nothing of the origin is the origin', () => {
    expect(sent([], trusted)).toEqual(lists({ ...own, 'x-forwarded-for': '10.0.0.2' }));
  });

  test("can't set the internal token or the request id", () => {
    expect(sent(['Authorization', 'Bearer other', 'X-Request-Id', 'other'], trusted)).toEqual(
      lists({ ...own, 'x-forwarded-for': '10.0.0.2' }),
    );
  });
});

describe('the client receives', () => {
  test("the upstream's own headers as they are", () => {
    const headers = { 'content-type': 'application/json', link: '</v1/pets>', 'set-cookie': ['a=1', 'b=2'] };
    expect(clientResponseHeaders(headers)).toEqual(headers);
  });

  test.each([
    'connection',
    'keep-alive',
    'transfer-encoding',
    'trailer',
    'upgrade',
    'date',
    'server',
    'x-powered-by',
    'www-authenticate',
    'x-request-id',
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
    'ratelimit',
    'ratelimit-policy',
    'cache-control',
    'content-security-policy',
    'strict-transport-security',
    'x-content-type-options',
    'access-control-allow-origin',
    'access-control-allow-credentials',
  ])("no %s of the upstream's", (name) => {
    expect(clientResponseHeaders({ [name]: 'x', 'content-length': '2' })).toEqual({ 'content-length': '2' });
  });

  test.each([
    ['one field', 'close, X-Internal'],
    ['several fields', ['close', 'X-Internal']],
  ])('no header that Connection names in %s', (_name, connection) => {
    expect(clientResponseHeaders({ connection, 'x-internal': '1', 'x-other': '2' })).toEqual({
      'x-other': '2',
    });
  });

  test('nothing for a header without a value', () => {
    expect(clientResponseHeaders({ etag: undefined, 'content-length': '0' })).toEqual({
      'content-length': '0',
    });
  });
});
