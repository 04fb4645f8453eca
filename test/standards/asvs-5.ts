import { standard } from './standard.ts';

/** Levels 1 and 2, by the numbers of version 5.0.0. Of a section that does not apply as a whole, one clause says why. */
export const asvs5 = standard(`
OWASP ASVS 5.0, level 2
1.1: input is decoded once, into one form
  gateway/http-edge.slow: %s gets 401 without a key, and 404 with one
  security/hostile-json.slow: %s is not valid UTF-8
1.2.1: output is encoded for where it is shown
  unit/gateway/faces/html: a value is escaped, wherever it stands
1.2.4: database queries have parameters
  security/hostile-json.slow: the name %s is stored as it is, and is no part of a statement
1.3: text that is run, such as templates, comes from nobody
  does not apply: nothing evaluates text, and no HTML, SVG or LDAP of callers is rendered
1.5.2: deserialization makes plain values only
  security/hostile-json.slow: %s beside valid fields is ignored, and pollutes no object
1.5.3: all parsers of a format agree
  security/hostile-json.slow: the last value of a repeated property counts
  security/request-smuggling.slow: every byte belongs to exactly one well-formed request, whose client got the response
2.2.1: input is checked against what is allowed
  pets-service/pets-api: an invalid body is refused with the reasons
  security/hostile-json.slow: %.40s is refused as invalid
2.2.2: input is checked by the server
  pets-service/pets-api: %s is not JSON
2.3.3: a change is made as a whole, or not
  gateway/audited-changes: a change and its entry in the audit log are one step
2.3.4: nothing is handed out twice
  gateway/quota-concurrency: are allowed up to exactly the smaller limit, through any number of gateways
  pets-service/idempotency: sent 50 times at once creates one pet: every response is that pet, or 409 with Retry-After
2.4.1: automation is limited
  gateway/ban-policy: a client on %s that goes on at 50 requests a second, within %d s of its first 429
3.2.1: a response is not rendered as something else
  security/security-headers.slow: are sent once: %s
  gateway/admin-port: the response to %j is not sniffed and not framed
3.3.1: cookies are for https only
  security/console-access.slow: the console is used behind a proxy that ends TLS, with a cookie that only https carries
3.3.2: cookies do not come with requests of other sites
  security/console-attack-pages.slow: on %s cannot change anything, by fetch or by a form
3.3.4: no script reads the cookie of a session
  security/console-access.slow: a code is exchanged for a cookie that no script can read, for twelve hours, and works once
3.4.1: HSTS for a year
  security/security-headers.slow: is sent for %s over https
3.4.2: CORS: the allowed origins are a list, or * without secrets
  gateway/cors: an origin that is not on the list gets no CORS headers: %s
  gateway/cors: an asterisk allows each site, but not an unrestricted key, unless the page is its own
3.4.3: a Content-Security-Policy for each page
  gateway/docs: %s needs no key and is protected by its own policy
3.4.4: nosniff
  security/security-headers.slow: are sent once: %s
3.4.5: no Referrer tells what is inside
  security/console-attack-pages.slow: on %s learns neither the address nor the code of the page that led to it
3.4.6: pages cannot be framed
  security/console-attack-pages.slow: on %s cannot show the console in a frame
3.5.1: requests of other sites change nothing
  security/console-access.slow: $method $path is refused without the token of the session
  security/console-access.slow: from the Origin "%s" is refused
3.5.2: a request that needs no preflight changes nothing
  security/console-access.slow: with a body that is malformed, too large or no JSON is refused
3.5.3: changes have methods that are not safe
  security/console-attack-pages.slow: on %s cannot change anything, by fetch or by a form
3.5.4: applications have hosts of their own
  security/console-access.slow: %s, which may resolve to this address, gets neither page nor API
4.1.1: content has its type, with its charset
  security/request-smuggling.slow: each response reaches the client of its request
  gateway/docs: with Accept-Encoding: %s is the text as it is
4.1.3: headers of intermediaries cannot be set by clients
  security/header-spoofing: are replaced: %s
  security/header-spoofing: do not change the address that is limited
4.1.4: only methods that are used
  gateway/http-edge.slow: %s %s gets 401 without a key, and 405 with one
4.2.1: all servers see the same end of a request
  security/request-smuggling.slow: every byte belongs to exactly one well-formed request, whose client got the response
  security/smuggling-behind-proxies.long: no attack hides a request from the proxy
4.3: GraphQL
  does not apply: there is none
4.4: a WebSocket needs what any request does
  gateway/websocket.slow: needs a valid key with the scope to write, within the limits
5: files
  does not apply: nothing is stored as a file: a body is passed on, up to the limit of its service
6.2: passwords
  does not apply: nobody has one: clients have keys, operators links
6.3.1: guessing is limited
  security/api-keys: who guesses well-formed keys gets 429 after 60 guesses, without an effect on other clients
  security/console-access.slow: wrong codes are limited; a right one after some typos works
6.3.2: no account or key is there by default
  security/private-redis.slow: has a new password after each start
  e2e/production-install: migrates the database, issues a key and serves requests
6.5: codes are random, used once, and soon over
  gateway/console-sessions: a code is refused after five minutes, also if Redis has not removed it yet
  gateway/console-sessions: of many attempts with one code at once, on two gateways, one succeeds
6.6-6.8: codes by telephone, identity providers
  does not apply: there are none
7.2.1: a session is checked by the server
  security/console-access.slow: $method $path needs one
7.2.2: its token is made for it
  security/console-access.slow: a code is exchanged for a cookie that no script can read, for twelve hours, and works once
7.2.4: signing in makes a new token
  security/console-access.slow: ends when its browser signs in again, and is not replaced by that of somebody else unasked
7.3.2: a session ends after a time
  gateway/console-sessions: a session ends after twelve hours, also if Redis still has it
7.3.1: a session ends when it is not used
  deviates: it ends after twelve hours, used or not: the console is open on screens all day
7.4.1: signing out ends it
  security/console-access.slow: is over at once when its person signs out, and the cookie is removed
7.4.3: somebody can end their other sessions
  console/settings.slow: lists who is signed in, and an operator ends one session, with the keyboard alone
7.4.4: signing out is visible
  console/session.slow: the menu says who is signed in and until when, works by keyboard, and signs out
7.4.5: operators end sessions
  console/settings.slow: lists who is signed in, and an operator ends one session, with the keyboard alone
7.5.2: sessions are listed
  console/settings.slow: lists who is signed in, and an operator ends one session, with the keyboard alone
8.2.1: functions need a permission
  console/operations: $name is refused to a viewer, and changes nothing
  gateway/scopes-and-costs: a key with a list of scopes may call their operations only, and is told which it lacks
8.2.2: data needs one
  security/api-keys: with a valid key sees the usage of that key only
8.3.1: permissions are checked by the server, by what is current
  gateway/scopes-and-costs: a change of scopes is in force on the next request, and in the audit log
8.4.1: customers are kept apart
  pets-service/idempotency: belongs to its caller: to the subject and the issuer of the token
9.1.1: signatures of tokens are checked
  security/internal-tokens: a token with %s is refused
9.1.2: by an algorithm of a list
  security/internal-tokens: a token with %s is refused
9.2.1: and the time for which they are valid
  security/internal-tokens: a token with %s is refused
9.2.3: and the audience
  unit/pets-service/internal-token: is signed with ES256, valid only for the pets service, and expires after five minutes
10: OAuth and OIDC
  does not apply: the gateway is neither client nor server of it
11.4.1: hashes are of an approved function
  security/secrets: are not in Redis
11.5.1: what must not be guessed is random, with 128 bits
  unit/gateway/keys/api-keys.properties: is well-formed, never repeats, and its hint shows four of its random characters
11.2-11.3: ciphers
  does not apply: nothing is encrypted here but connections, by TLS
12.1: TLS 1.2 or later, in front of the port
  does not apply: a proxy ends TLS, as DEPLOY.md asks for
12.3.2: certificates of servers are checked
  e2e/redis-tls: an untrusted certificate is refused
13.2.2: accounts between parts have what they need
  gateway/redis-user.slow: the gateway is denied nothing that it does
  gateway/redis-user.slow: each command that the user may send is sent, but for those of a Cluster
  e2e/images.long: the database role of the pets service can use the tables, and not change them
13.2.3: none has a default password
  security/private-redis.slow: does not execute %s without its password
13.3.1: secrets are in no source or image
  security/secrets: has no API key, private key or password of Redis in the command lines and environments of its processes
  security/secrets: has no secret in its file names, and only the owner can read files with a secret
13.4.2: nothing is there for debugging
  gateway/admin-port: refuses the path %s with 400, without a stack
13.4.4: TRACE is refused
  gateway/http-edge.slow: %s %s gets 401 without a key, and 405 with one
13.4.5: monitoring is not public
  gateway/http-edge.slow: %s is outside the API: it gets 404 without a key, and no rate limit headers
14.2.1: secrets are in no address
  standards/responses: an API key in the query or in a form is none
  console/session.slow: a link that was used before says so, and leaves no code in the address or the history
14.2.2: nothing stores responses on the way
  security/security-headers.slow: are sent once: %s
14.3.2: nor does a browser
  security/security-headers.slow: replace those of the upstream, and its CORS headers are removed
15.1.1: known vulnerabilities are mended within a time
  e2e/audit: fails for a vulnerability of a production dependency, and not for one of a development dependency
15.2.3: production has what it needs
  e2e/production-install: has none of the embedded stores, and one version of what they share with the rest
  e2e/images.long: has no package that only development needs
15.3.1: a response has the fields that it must have, and no others
  contract/contract.slow: 200 and 201
  contract/pets-service-contract.slow: holds for pets: created, replayed, listed with and without a next page, fetched
15.3.3: fields that may not be set are ignored
  security/hostile-json.slow: %s sets no fields of the pet
15.3.4: the address of a client is that which proxies saw
  security/api-keys: who claims a new address in each request is limited by the address that the proxy saw
15.3.6: no prototype is polluted
  security/hostile-json.slow: %s beside valid fields is ignored, and pollutes no object
15.3.7: repeated parameters are refused
  security/hostile-json.slow: %s is refused as repeated
16.2.1: a line of the log says when, who, what
  gateway/observability.slow: has one line per request, with its caller, decision and durations
16.2.4: lines have one form
  e2e/log-lines.slow: every line of the output of the gateway is JSON, whatever libraries print
16.2.5: no secret is logged
  afterwards/secrets: no log line, metric, error response or upstream request of the whole suite contains a secret
16.3.1: signing in is logged
  e2e/ops-live.slow: prints a link to the running gateway, whatever its port, that begins one session, of the person whom --for names
16.3.2: refusals are logged
  security/console-access.slow: refused requests leave, once a minute for each address, a line in the log without the path
16.3.3: what defends is logged
  console/security.slow: a ban is lifted, audited under the name of the person, and the next request is served
16.4.1: no line can be forged
  security/header-spoofing: an invalid request id is replaced, and cannot break the log format
16.4.2: the audit log cannot be changed
  gateway/redis-user.slow: adds to the audit log, and cannot remove or replace it
16.5.1: errors show nothing of what is inside
  security/secrets: logs the error of a crash during a request, and nothing of the request
16.5.2: failures of others are contained
  faults/redis-outage.slow: $name: known keys are served and limited, unknown keys get 503, and every request is counted afterwards
16.5.3: a failure opens nothing
  faults/redis-outage.slow: a key that expires during the outage is refused
17: WebRTC
  does not apply: there is none
`);
