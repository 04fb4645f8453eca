import { standard } from './standard.ts';

export const owaspApi2023 = standard(`
OWASP API Security Top 10 2023
API1: broken object level authorization: a caller gets only its own
  security/api-keys: with a valid key sees the usage of that key only
  pets-service/idempotency: belongs to its caller: to the subject and the issuer of the token
API1, pets: the pets of the store are for every customer
  does not apply: pets have no owner; a service tells owners apart by the subject of the token
API2, guessing: broken authentication: credentials cannot be guessed
  security/api-keys: who guesses well-formed keys gets 429 after 60 guesses, without an effect on other clients
  security/api-keys: who claims a new address in each request is limited by the address that the proxy saw
  security/api-keys: cannot find out with a part of a key whether it exists
API2, storage: keys are stored as hashes, and shown once
  security/secrets: are not in Redis
  security/secrets: are not in Redis
API2, tokens: the signature, end and audience of a token are checked
  security/internal-tokens: a token with %s is refused
API2, end: keys expire and are revoked at once, and a leaked one is found
  faults/redis-cluster.long: limits, revocations and bans apply on all gateways, and /v1/usage shows the usage of a key
  console/keys-api: by id, hint, SHA-256, plan, state, expiry and time of the last use
API2, console: operators sign in by a link that works once
  security/console-access.slow: a code is exchanged for a cookie that no script can read, for twelve hours, and works once
  security/console-access.slow: wrong codes are limited; a right one after some typos works
API3, exposure: broken object property level authorization: nothing that is not described leaves
  gateway/proxy.slow: has the upstream's headers, but none of the gateway's, of a connection, or that command a browser or a proxy
  contract/contract.slow: every documented response has been seen
API3, assignment: fields that a caller may not set are ignored
  security/hostile-json.slow: %s sets no fields of the pet
  unit/pets-service/pets/pet-input: drops unknown fields and a client's id
API4, rate: unrestricted resource consumption: requests are limited, exactly
  gateway/quota-concurrency: are allowed up to exactly the smaller limit, through any number of gateways
  gateway/customers: get exactly its limit together on several gateways, while keys are rotated, added and revoked and its plan changes
API4, free: what costs nothing is limited, too
  gateway/usage: a client over ten requests a second gets 429, and its refused requests cost no Redis command
API4, size: bodies, headers, pages and nesting are limited
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
  gateway/http-edge.slow: %s is refused with the limit of the address or the key, %d
  security/hostile-json.slow: is said to be nested too deeply: %s
  pets-service/pets-api: an invalid parameter is refused by its name
API4, time: slow clients and slow services are cut off
  security/slow-clients.slow: occupy no upstream connection: other requests are served, and the slow ones once they are complete
  faults/upstream-faults.slow: %s: GET and POST get %s
API4, connections: connections are limited, of each address and in all
  security/slow-clients.slow: over the limit get 503 until another one closes
  security/slow-clients.slow: of one address are limited, and other addresses are served
API4, processor: work beside a request is bounded
  gateway/public-address: clients that invent hosts get their own
API5: broken function level authorization: a key calls what its scopes allow
  gateway/scopes-and-costs: a key with a list of scopes may call their operations only, and is told which it lacks
  gateway/scopes-and-costs: scopes that were edited into something else by hand widen nothing
API5, operators: what operators do is on another port, and viewers change nothing
  console/operations: $name is refused to a viewer, and changes nothing
  security/console-access.slow: $method $path needs one
  console/api-description: has every route once, and no other
API6: sensitive business flows: costs and bans make automation expensive
  gateway/scopes-and-costs: a request takes what it costs from each window; with less left it is refused and takes nothing
  gateway/ban-policy: a client on %s that goes on at 50 requests a second, within %d s of its first 429
API7: server-side request forgery: a client chooses no address
  unit/gateway/upstream/headers: has no %s, not even from a trusted proxy
  unit/gateway/platform/http/http.properties: in absolute form is reduced to its path and query for any host
API8, headers: security misconfiguration: every response has its security headers
  security/security-headers.slow: are sent once: %s
  security/security-headers.slow: are sent in response to %s
API8, CORS: pages of other sites are allowed by name
  gateway/cors: an origin that is not on the list gets no CORS headers: %s
  gateway/cors: an unrestricted key is refused in a page, at the cost of one, and works everywhere else
API8, methods: only methods that are used are there
  gateway/http-edge.slow: %s %s gets 401 without a key, and 405 with one
API8, errors: errors show nothing of what is inside
  gateway/admin-port: refuses the path %s with 400, without a stack
  security/secrets: logs the error of a crash during a request, and nothing of the request
API8, chain: all servers of the chain see the same requests
  security/smuggling-behind-proxies.long: no attack hides a request from the proxy
  security/request-smuggling.slow: no smuggled pet was created, and each created pet has a response
API8, patches: packages with known vulnerabilities fail the build
  e2e/audit: fails for a vulnerability of a production dependency, and not for one of a development dependency
API9, hosts: improper inventory management: what is not described does not exist
  gateway/http-edge.slow: %s is outside the API: it gets 404 without a key, and no rate limit headers
  contract/contract.slow: lists exactly the error codes of both services
API9, versions: old operations have an end, and are removed then
  pets-service/pets-api: works until the sunset and gets 410 from then on
  contract/compatibility/breaking-changes: the description keeps every promise of %s
API10: unsafe consumption of APIs: no broken response of a service passes as a whole one, and none commands a browser
  faults/upstream-faults.slow: %s: GET and POST get %s
  gateway/proxy.slow: has the upstream's headers, but none of the gateway's, of a connection, or that command a browser or a proxy
`);
