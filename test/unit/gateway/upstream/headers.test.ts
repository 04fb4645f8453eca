import { describe, expect, test } from 'vitest';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';
import { upstreamRequestHeaders, type ForwardedRequest } from '../../../../gateway/upstream/headers.ts';
import { clientResponseHeaders } from '../../../support/http/client-response-headers.ts';

const base: Omit<ForwardedRequest, 'rawHeaders'> = {
  peerAddress: '203.0.113.7',
  peerIsTrusted: false,
  authorization: 'Bearer internal',
  requestId: 'req-1',
  hasBody: false,
};

const gatewayHeaders = {
  authorization: 'Bearer internal',
  'x-request-id': 'req-1',
  'x-forwarded-for': '203.0.113.7',
  'x-forwarded-host': 'api.example',
  'x-forwarded-proto': 'http',
};

/** Headers sent to the upstream, as lists of values so that a repeated header is visible. */
function sentHeaders(rawHeaders: string[], overrides: Partial<typeof base> = {}): Record<string, string[]> {
  const valuesByName: Record<string, string[]> = {};
  const allHeaders = ['Host', 'api.example', ...rawHeaders];
  const flat = upstreamRequestHeaders({ ...base, rawHeaders: allHeaders, ...overrides });
  for (let index = 0; index < flat.length; index += 2) {
    (valuesByName[flat[index] ?? ''] ??= []).push(flat[index + 1] ?? '');
  }
  return valuesByName;
}

const asLists = (headers: Record<string, string>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));

describe('a request to the upstream', () => {
  test("has the client's headers that say what is asked for, repeated ones included, and the gateway's own", () => {
    const tags = ['If-None-Match', '"1"', 'If-None-Match', '"2"'];
    expect(sentHeaders(['Accept', 'application/json', ...tags, 'Prefer', 'x'])).toEqual({
      accept: ['application/json'],
      'if-none-match': ['"1"', '"2"'],
      prefer: ['x'],
      ...asLists(gatewayHeaders),
    });
  });

  test('has every header parameter of the description', () => {
    const names = Array.from(loadApiDescription().json.matchAll(/"name":"([^"]+)","in":"header"/g), (found) =>
      String(found[1]),
    );
    expect(names).toContain('Idempotency-Key');
    for (const name of names) expect(sentHeaders([name, 'x'])[name.toLowerCase()]).toEqual(['x']);
  });

  test.each([
    { isTraced: false, peerIsTrusted: false, kept: [] },
    { isTraced: false, peerIsTrusted: true, kept: ['traceparent', 'tracestate', 'baggage'] },
    { isTraced: true, peerIsTrusted: false, kept: [] },
    { isTraced: true, peerIsTrusted: true, kept: ['baggage'] },
  ])(
    'has of the trace context $kept if traced is $isTraced and the peer trusted is $peerIsTrusted',
    (given) => {
      const { kept, ...overrides } = given;
      const sent = sentHeaders(['Traceparent', 'a', 'TraceState', 'b', 'Baggage', 'c'], overrides);
      expect(Object.keys(sent).filter((name) => !(name in gatewayHeaders))).toEqual(kept);
    },
  );

  // Those with dashes in their names are shown by http.properties.test.ts.
  test.each(
    'x_forwarded_for X_Forwarded-For x_real_ip x_request_id transfer_encoding content_length'.split(' '),
  )('has no %s from an untrusted client', (name) => {
    expect(sentHeaders([name, '5'])).toEqual(asLists(gatewayHeaders));
  });

  test.each(
    (
      'if_none_match Cookie X-Api-Key X-Original-URL X-Rewrite-URL X-HTTP-Method-Override X-Client-IP True-Client-IP ' +
      'CF-Connecting-IP Fastly-Client-IP X-Cluster-Client-IP X-Anything-Else'
    ).split(' '),
  )('has no %s, not even from a trusted proxy', (name) => {
    for (const peerIsTrusted of [false, true]) {
      expect(sentHeaders([name, 'x'], { peerIsTrusted })).toEqual(asLists(gatewayHeaders));
    }
  });
});

describe('a trusted proxy', () => {
  const trusted = { peerAddress: '10.0.0.2', peerIsTrusted: true };

  test('is trusted about the origin, and its address is appended to X-Forwarded-For', () => {
    const rawHeaders = ['X-Forwarded-For', '198.51.100.9, 10.0.0.1', 'X-Forwarded-Host', 'shop.example'];
    const origin = { 'x-forwarded-host': 'shop.example', 'x-forwarded-proto': 'https' };
    const forwardedFor = { 'x-forwarded-for': '198.51.100.9, 10.0.0.1, 10.0.0.2' };
    expect(sentHeaders([...rawHeaders, 'X-Forwarded-Proto', 'https'], trusted)).toEqual(
      asLists({ ...gatewayHeaders, ...forwardedFor, ...origin }),
    );
  });

  test('may send X-Forwarded-For in several fields', () => {
    const rawHeaders = ['X-Forwarded-For', '198.51.100.9', 'x-forwarded-for', '10.0.0.1'];
    expect(sentHeaders(rawHeaders, trusted)['x-forwarded-for']).toEqual(['198.51.100.9, 10.0.0.1, 10.0.0.2']);
  });

  test('is not trusted about a header that its own Connection header names', () => {
    const rawHeaders = ['Connection', 'X-Forwarded-For', 'X-Forwarded-For', '198.51.100.9'];
    const expected = asLists({ ...gatewayHeaders, 'x-forwarded-for': '10.0.0.2' });
    expect(sentHeaders(rawHeaders, trusted)).toEqual(expected);
  });
});

describe('a response to the client', () => {
  test.each(
    (
      'connection keep-alive transfer-encoding trailer upgrade date server x-powered-by www-authenticate x-request-id ' +
      'x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset ratelimit ratelimit-policy cache-control ' +
      'content-security-policy strict-transport-security x-content-type-options access-control-allow-origin ' +
      'access-control-allow-credentials set-cookie alt-svc x-accel-redirect x-sendfile refresh clear-site-data ' +
      'proxy-authenticate proxy-anything-else expires surrogate-control report-to'
    ).split(' '),
  )('has no %s from the upstream', (name) => {
    expect(clientResponseHeaders({ [name]: 'x', 'content-length': '2' })).toEqual({ 'content-length': '2' });
  });
});
