import { standard } from './standard.ts';

export const rfc6750 = standard(`
RFC 6750, bearer tokens
2.1: a token is in Authorization, after Bearer
  unit/gateway/keys/api-keys.properties: yields a key only from a single header with the Bearer scheme and a well-formed key
2.2: a token in a form is optional
  standards/responses: an API key in the query or in a form is none
2.3: a token in an address should not be used
  standards/responses: an API key in the query or in a form is none
2: a token is sent in one way only
  security/header-spoofing: %s gets malformed_api_key
3: a 401 names the scheme
  contract/contract.slow: 401
3, error: a 401 for a token says invalid_token
  deviates: the published description promises \`Bearer\` alone; the code in the body says more
3.1, no error: a request without a token is not told of an error
  standards/responses: a request without a key is told the scheme, and of no error
3.1, insufficient_scope: 403 for a scope that is missing, and names it
  gateway/scopes-and-costs: a key with a list of scopes may call their operations only, and is told which it lacks
5.2, guessing: tokens cannot be guessed
  security/api-keys: who guesses well-formed keys gets 429 after 60 guesses, without an effect on other clients
5.2, disclosure: tokens are kept from others: TLS
  security/security-headers.slow: is sent for %s over https
5.2, redirect: a token for one service is of no use at another
  security/internal-tokens: a token with %s is refused
  unit/pets-service/internal-token: is signed with ES256, valid only for the pets service, and expires after five minutes
5.3, lifetime: tokens end, and can be revoked at once
  gateway/authentication: a key works until it expires, and then gets expired_api_key
  faults/redis-cluster.long: limits, revocations and bans apply on all gateways, and /v1/usage shows the usage of a key
5.3, cookies and logs: tokens are in no cookie, address or log
  security/header-spoofing: in a method, a target or another header is not logged
  afterwards/secrets: no log line, metric, error response or upstream request of the whole suite contains a secret
`);

export const rfc9745 = standard(`
RFC 9745, Deprecation
2: a deprecated resource says since when, as a date of structured fields
  pets-service/pets-api: sends its deprecation, sunset and successor in every response
2.1: the date may be in the past
  pets-service/pets-api: sends its deprecation, sunset and successor in every response
3: a link of the relation deprecation explains it
  contract/contract.slow: every Link of a response, and every link in the description, leads somewhere
4: Sunset is not before Deprecation
  pets-service/pets-api: sends its deprecation, sunset and successor in every response
5: a deprecated resource behaves as before
  pets-service/pets-api: works until the sunset and gets 410 from then on
gateway: the headers pass the gateway, with 304 too
  unit/gateway/platform/http/http.properties: the client receives the headers of the upstream, unchanged, and none that is reserved or that Connection names
  gateway/conditional: conditions and tags of a %s pass in both directions, and a 304 costs like any other response
`);

export const rfc8594 = standard(`
RFC 8594, Sunset
3: Sunset is a date of HTTP
  pets-service/pets-api: sends its deprecation, sunset and successor in every response
3, then: the resource is likely to be gone from then on
  pets-service/pets-api: works until the sunset and gets 410 from then on
3, past: a date in the past is sent, too
  contract/contract.slow: 500 if a query fails, and 410 from the sunset on
6: a link of the relation sunset may explain it
  does not apply: the relation deprecation leads to the same text
`);

export const rateLimitDraft = standard(`
draft-ietf-httpapi-ratelimit-headers
RateLimit-Policy: a list of policies by name, with quota and window
  unit/gateway/quota/rate-limit-headers: an allowed request shows the minute in X-RateLimit and both windows in RateLimit
RateLimit-Policy, q: a quota is a whole number that is not negative
  unit/gateway/limits/limits: %j is not a valid limit
RateLimit: what is left of each policy, and seconds to its end
  unit/gateway/quota/rate-limit-headers: an allowed request shows the minute in X-RateLimit and both windows in RateLimit
  gateway/windows: that a plan is given by hand are enforced within a second, named in headers, and removed again
RateLimit, r: what is left is not negative, also after a limit was lowered
  gateway/usage: works if a limit is used up, or was lowered below its usage
RateLimit, t: is no promise to a client that does not wait
  unit/gateway/quota/rate-limit-headers: a banned request shows the minute limit, nothing remaining and the end of the ban
Retry-After: takes precedence, and is not before the end of the window
  unit/gateway/quota/rate-limit-headers: waits for the end of the minute if that comes after the end of the day
  unit/gateway/quota/rate-limit-headers: waits for midnight if the day limit refused it, and is told how near a ban is
partition keys: requests without a key are of their address
  unit/gateway/quota/rate-limit-headers: a request without a valid key shows only the limit of its address
throttling: a response that costs nothing may say what is left
  gateway/usage: returns the plan and both windows, and consumes no quota
intermediaries: the headers of a service are not mixed with those of the gateway
  gateway/proxy.slow: has the upstream's headers, but none of the gateway's, of a connection, or that command a browser or a proxy
security: what is left of others cannot be learnt
  security/api-keys: with a valid key sees the usage of that key only
thundering herd: windows of customers do not all end at once
  gateway/windows: of an hour begin with the first request, and those of a month are UTC months
`);
