import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalizeTarget } from '../../../../../gateway/platform/http/request.ts';
import { loadApiDescription } from '../../../../../gateway/upstream/api-description.ts';
import { upstreamRequestHeaders, type ForwardedRequest } from '../../../../../gateway/upstream/headers.ts';
import { clientResponseHeaders } from '../../../../support/http/client-response-headers.ts';

const hopByHop = (
  'connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer ' +
  'transfer-encoding upgrade'
).split(' ');
const gatewayHeaderNames =
  'authorization x-request-id x-forwarded-for x-forwarded-host x-forwarded-proto'.split(' ');
const specialNames = [
  ...hopByHop,
  ...gatewayHeaderNames,
  'expect',
  'host',
  'forwarded',
  'x-real-ip',
  'content-length',
];

const withRandomCase = (name: fc.Arbitrary<string>) =>
  fc
    .tuple(name, fc.infiniteStream(fc.boolean()))
    .map(([name, upper]) =>
      Array.from(name, (character) => (upper.next().value ? character.toUpperCase() : character)).join(''),
    );
const plainName = fc.stringMatching(/^x-[a-z]{1,6}$/);
const forwardedName = plainName.map((name) => `x-forwarded-${name}`);
const name = withRandomCase(fc.oneof(fc.constantFrom(...specialNames), plainName, forwardedName));
const names = fc.array(name, { maxLength: 4 });
const value = fc.oneof(
  fc.stringMatching(/^[ -~]{0,20}$/),
  names.map((all) => all.join(' ,')),
  fc.nat().map(String),
);
const connection = withRandomCase(fc.constant('connection'));
const header = fc.oneof(
  fc.tuple(name, value),
  fc.tuple(
    connection,
    names.map((all) => all.join(', ')),
  ),
);

/** Headers that the upstream gets of a client. */
function sentFor(headers: readonly string[][], given: Partial<ForwardedRequest> = {}): [string, string][] {
  const sent = upstreamRequestHeaders({
    rawHeaders: headers.flat(),
    peerAddress: '203.0.113.7',
    peerIsTrusted: false,
    authorization: 'Bearer internal',
    requestId: 'req-1',
    hasBody: true,
    ...given,
  });
  return sent.flatMap((name, index) => (index % 2 === 0 ? [[name, sent[index + 1] ?? '']] : []));
}

const optionsOf = (value: string) => new Set(value.split(',').map((token) => token.trim().toLowerCase()));

describe('for any headers of a client, the upstream', () => {
  const request = fc.record({
    headers: fc.array(header, { maxLength: 12 }),
    peerIsTrusted: fc.boolean(),
    hasBody: fc.boolean(),
    hasHost: fc.boolean(),
  });

  test("receives the gateway's headers once, no hop-by-hop header, and one framing", () => {
    fc.assert(
      fc.property(request, ({ headers, peerIsTrusted, hasBody, hasHost }) => {
        const sent = sentFor([...headers, ...(hasHost ? [['Host', 'api.example']] : [])], {
          peerIsTrusted,
          hasBody,
        });
        const valuesOf = (name: string) =>
          sent.flatMap(([sentName, value]) => (sentName === name ? [value] : []));
        const connections = headers.filter(([name]) => /^connection$/i.test(name));
        const connectionOptions = optionsOf(connections.map(([, value]) => value).join(','));
        const hosts = valuesOf('x-forwarded-host');
        for (const name of gatewayHeaderNames) {
          if (name !== 'x-forwarded-host' || hasHost) expect(valuesOf(name)).toHaveLength(1);
        }
        // Without a Host, only if the client or a trusted proxy names one.
        expect(hosts.length).toBeLessThanOrEqual(1);
        expect(hosts).not.toContain('');
        expect(valuesOf('authorization')).toEqual(['Bearer internal']);
        expect(valuesOf('x-request-id')).toEqual(['req-1']);
        const [forwardedFor = ''] = valuesOf('x-forwarded-for');
        expect(forwardedFor.endsWith('203.0.113.7')).toBe(true);
        if (!peerIsTrusted) {
          expect(forwardedFor).toBe('203.0.113.7');
          expect(valuesOf('x-forwarded-proto')).toEqual(['http']);
        }
        for (const [name] of sent) {
          expect(name).toBe(name.toLowerCase());
          expect([...hopByHop, 'expect', 'host', 'forwarded', 'x-real-ip']).not.toContain(name);
          if (gatewayHeaderNames.includes(name)) continue;
          expect(name.startsWith('x-forwarded-')).toBe(false);
          expect(name !== 'content-length' && connectionOptions.has(name)).toBe(false);
        }
        const lengths = headers.flatMap(([name, value]) => (/^content-length$/i.test(name) ? [value] : []));
        expect(valuesOf('content-length')).toEqual(hasBody ? lengths : []);
      }),
      { numRuns: 2000 },
    );
  });

  test('receives the headers on the list unchanged and in order, and no other', () => {
    const listed = fc.constantFrom('accept', 'accept-language', 'if-none-match', 'user-agent');
    const anyName = withRandomCase(fc.oneof(listed, plainName));
    const endToEndHeaders = fc.array(fc.tuple(anyName, fc.stringMatching(/^[!-~]{0,20}$/)));
    fc.assert(
      fc.property(endToEndHeaders, endToEndHeaders, (before, after) => {
        const others = ['Transfer-Encoding', 'chunked', 'X-Forwarded-For', '10.0.0.1'];
        const sent = sentFor([...before, others, ...after, ['Host', 'api.example']]);
        const expected = [...before, ...after]
          .map(([name, value]) => [name.toLowerCase(), value])
          .filter(([name]) => !name?.startsWith('x-'));
        expect(sent.slice(0, -gatewayHeaderNames.length)).toEqual(expected);
      }),
    );
  });
});

test('the client receives the headers of the upstream, unchanged, and none that is reserved or that Connection names', () => {
  const known = 'content-type content-length link location etag retry-after sunset deprecation'.split(' ');
  const plain = /^x-[a-z]{1,6}$/;
  // undici returns names in lower case.
  const reserved = ['set-cookie', 'x-ratelimit-limit', 'x-request-id', 'cache-control'];
  const responseName = fc.oneof(fc.constantFrom(...known, ...hopByHop, ...reserved), plainName);
  fc.assert(
    fc.property(fc.dictionary(responseName, fc.oneof(value, fc.array(value))), (headers) => {
      const passed = clientResponseHeaders(headers);
      const connectionOptions = optionsOf(String(headers['connection'] ?? ''));
      for (const [name, value] of Object.entries(headers)) {
        const isPassed = (known.includes(name) || plain.test(name)) && !connectionOptions.has(name);
        expect(passed[name]).toEqual(isPassed ? value : undefined);
      }
    }),
    { numRuns: 1000 },
  );
});

describe('a request target', () => {
  /** Target that the later steps receive. The socket is never connected. */
  function normalized(target: string): string {
    const req = new IncomingMessage(new Socket());
    req.url = target;
    normalizeTarget(req);
    return req.url;
  }

  const segment = fc.oneof(
    fc.constantFrom(...String.raw`v1,pets,usage,V1,../..,.,,%2e%2e,..;,openapi.json,\,1,%2F`.split(',')),
    // A target has no fragment: it is cut off.
    fc.string({ unit: 'binary', maxLength: 5 }).filter((text) => !text.includes('#')),
  );
  const path = fc.array(segment, { maxLength: 5 }).map((segments) => `/${segments.join('/')}`);
  const query = fc.oneof(
    fc.constant(''),
    fc.webQueryParameters().map((text) => `?${text}`),
  );

  test('in absolute form is reduced to its path and query for any host', () => {
    const origin = fc
      .tuple(
        fc.constantFrom('http', 'https', 'HTTP'),
        fc.constantFrom('x', 'a:b@x', '[::1]:8080', 'x:80', ''),
      )
      .map(([scheme, authority]) => `${scheme}://${authority}`);
    fc.assert(
      fc.property(origin, path, query, (origin, path, query) => {
        // The HTTP parser refuses line breaks.
        fc.pre(!/[\n\r\u2028\u2029]/.test(path));
        expect(normalized(origin + path + query)).toBe(path + query);
        expect(normalized(origin + query)).toBe(`/${query}`);
      }),
    );
  });

  test('that is a path stays unchanged, and so does a normalized target', () => {
    fc.assert(
      fc.property(path, query, fc.string({ unit: 'binary' }), (path, query, text) => {
        expect(normalized(path + query)).toBe(path + query);
        expect(normalized(normalized(text))).toBe(normalized(text));
      }),
    );
  });

  test('matches a route only as written in the OpenAPI document: nothing is decoded or resolved', () => {
    const api = loadApiDescription();
    fc.assert(
      fc.property(path, (path) => {
        const [, id = ''] = /^\/v1\/pets\/(.+)$/.exec(path) ?? [];
        const isDocumented =
          ['/openapi.json', '/v1/pets', '/v1/usage'].includes(path) ||
          (/^[A-Za-z0-9._~-]+$/.test(id) && id !== '.' && id !== '../..');
        expect(api.match(path) !== undefined).toBe(isDocumented);
      }),
      { numRuns: 3000 },
    );
  });
});
