import { standard } from './standard.ts';

export const rfc9110 = standard(`
RFC 9110, HTTP semantics
2.5: a minor version that is not known is served as the highest that is
  deviates: Node refuses HTTP/1.2 and later, which nobody sends
4.2.3: equivalent addresses are one resource, or one of them has none
  gateway/http-edge.slow: %s gets 401 without a key, and 404 with one
5.1: names of headers compare without regard to case
  unit/gateway/keys/api-keys.properties: yields a key only from a single header with the Bearer scheme and a well-formed key
5.3: a header that is no list is not repeated
  security/header-spoofing: %s gets malformed_api_key
  security/security-headers.slow: are sent once: %s
5.4: larger headers than the server reads get a 4xx
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
5.5: CR, LF and NUL in a value are refused
  security/request-smuggling.slow: every byte belongs to exactly one well-formed request, whose client got the response
6.6.1: responses have a Date
  standards/responses: every response of the gateway has a Date
7.2: a request has one valid Host
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
  unit/gateway/platform/http/addresses: addresses stay relative for the Host %j
7.6.1: an intermediary drops Connection, and what it names
  unit/gateway/platform/http/http.properties: receives the gateway's headers once, no hop-by-hop header, and one framing
  unit/gateway/platform/http/http.properties: the client receives the headers of the upstream, unchanged, and none that is reserved or that Connection names
7.6.3: a gateway names itself in Via
  deviates: services learn of the hop by X-Forwarded-* and the token; like nginx and Envoy, none by default
7.7: an intermediary changes no content that must not be transformed
  gateway/proxy.slow: has the exact body of a POST, and not the body of a GET
7.8: Upgrade may be ignored
  gateway/client-connections: is closed after the response: %s
8.4: the coding of content is named, and one that the client accepts
  gateway/docs: with Accept-Encoding: %s is the text as it is
8.6: 204 and 304 have no content, 304 and HEAD the length of GET or none
  gateway/http-edge.slow: HEAD gets the response to GET without its body, also for errors
  gateway/conditional: a 304 to a GET with %j passes
  faults/client-functions.slow: takes a response that has no body, as a 304 has none
8.8.3.3: a coding has its own entity tag, or a weak one
  does not apply: the gateway compresses nothing
9.1: methods are case-sensitive; one that a resource lacks gets 405
  gateway/http-edge.slow: %s %s gets 401 without a key, and 405 with one
9.2.1: GET, HEAD and OPTIONS change nothing
  gateway/http-edge.slow: OPTIONS lists the methods, needs no key and consumes no quota
9.2.2: only idempotent requests are repeated unasked
  gateway/proxy.slow: a connection that closes without a response is 502: a GET is tried twice, a POST once
9.3.1: the body of a GET has no meaning
  gateway/proxy.slow: has the exact body of a POST, and not the body of a GET
9.3.2: HEAD is GET without content
  gateway/http-edge.slow: HEAD gets the response to GET without its body, also for errors
9.3.6: CONNECT is for proxies
  gateway/http-edge.slow: CONNECT gets 405 with the allowed methods
9.3.7: OPTIONS lists what a resource supports
  gateway/http-edge.slow: OPTIONS lists the methods, needs no key and consumes no quota
10.1.1: 100 is sent when the body is wanted, and never to HTTP/1.0
  gateway/http-edge.slow: a client that waits for 100 Continue gets it once its key is accepted
  gateway/http-edge.slow: a client without a key never gets 100 Continue
  gateway/http-edge.slow: Expect is ignored in HTTP/1.0
10.2.2: Location leads to what was created
  pets-service/pets-api: stores the pet and returns its Location
  gateway/public-address: addresses have it, whatever the request or a proxy says
10.2.3: Retry-After says how long to wait, in seconds
  unit/gateway/quota/quota.properties: never invite an immediate retry
  gateway/ban-policy: a client that waits for Retry-After
11.4: a scheme compares without regard to case
  unit/gateway/keys/api-keys.properties: yields a key only from a single header with the Bearer scheme and a well-formed key
11.6.1: a 401 says how to authenticate
  contract/contract.slow: 401
11.6.2: an intermediary keeps credentials, unless they are for it
  unit/gateway/platform/http/http.properties: receives the gateway's headers once, no hop-by-hop header, and one framing
12.5.3: Accept-Encoding is obeyed, q=0 too
  does not apply: the gateway compresses nothing: the identity coding is what a client gets that accepts none
12.5.5: Vary names what a response depends on
  gateway/cors: responses and refusals can be read, and Vary has what the service says, too
13.1.2: If-None-Match compares weakly; an asterisk matches whatever there is
  does not apply: the gateway makes no tags: If-None-Match passes to the service
13.1.1: If-Match and the other conditions are for who has the resource
  unit/gateway/upstream/headers: has the client's headers that say what is asked for, repeated ones included, and the gateway's own
13.2.1: conditions count only where the response would be a success
  does not apply: the gateway evaluates no conditions of services
14: ranges are optional
  does not apply: the gateway offers none; a service may, and Range passes
15.4.5: 304 has ETag, Vary and Cache-Control of the 200, and no content
  gateway/conditional: conditions and tags of a %s pass in both directions, and a 304 costs like any other response
15.5.2: 401 is for credentials that are missing or invalid
  gateway/authentication: a request without a key gets missing_api_key
15.5.4: 403 is for a request that is understood and not allowed
  gateway/scopes-and-costs: a key with a list of scopes may call their operations only, and is told which it lacks
15.5.6: 405 has Allow
  gateway/http-edge.slow: %s %s gets 401 without a key, and 405 with one
15.5.9: 408 is for a request that comes too slowly
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
15.5.14: 413 is for a body that is too large
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
15.5.16: 415 is for a type that is not supported
  pets-service/pets-api: a body with %j: %s
15.5.18: 417 is for an Expect that cannot be met
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
15.6.3: 502 is for an invalid response of the service
  faults/upstream-faults.slow: %s: GET and POST get %s
15.6.4: 503 may say when to retry
  faults/several-upstreams.slow: when all upstreams are down, requests get 503 at once, and succeed when one is back
15.6.5: 504 is for a service that does not respond in time
  faults/upstream-faults.slow: %s: GET and POST get %s
17.6: error messages say nothing of what is inside
  security/secrets: logs the error of a crash during a request, and nothing of the request
`);

export const rfc9111 = standard(`
RFC 9111, HTTP caching
3.5: what a key gets is stored by no shared cache
  security/security-headers.slow: are sent once: %s
4.1: Vary tells stored responses apart
  gateway/cors: responses and refusals can be read, and Vary has what the service says, too
4.3.2: a validation that succeeds is 304, with the metadata of the 200
  gateway/conditional: conditions and tags of a %s pass in both directions, and a 304 costs like any other response
4.4: unsafe requests invalidate what is stored
  does not apply: the gateway stores no responses
5.2.2.3: no-store: responses under the base path are not stored
  security/security-headers.slow: replace those of the upstream, and its CORS headers are removed
  security/security-headers.slow: are sent in response to %s
5.2.2.6: no-transform: an intermediary leaves the content alone
  gateway/proxy.slow: passes whatever its status and its content are
5.2.2.7: private: what depends on the request is not for shared caches
  security/security-headers.slow: allow caching of the OpenAPI document for five minutes, and reading it from any origin
5.2.2.9: public: what is the same for all may be shared
  gateway/public-address: a shared cache may store the description
5.2.2.1: max-age: pages and description for five minutes
  security/security-headers.slow: allow caching of the OpenAPI document for five minutes, and reading it from any origin
`);
