import { setTimeout as sleep } from 'node:timers/promises';
import jwt from 'jsonwebtoken';

interface ClientOptions {
  /** Address of the pets service, such as http://pets.internal:3001. */
  url: string;
  /** Name of this service in PETS_SERVICE_CALLER_KEYS. */
  name: string;
  /** EC P-256 private key in PEM format, which no other service has. */
  privateKey: string;
  now?: () => number;
}

const lifetimeSeconds = 300;
const renewAfterMs = 240_000;
const maxAttempts = 4;

/** An example to copy into an internal service. Signs its own tokens, renews them, and retries what can be retried. */
export function createPetsClient({ url, name, privateKey, now = Date.now }: ClientOptions) {
  let token = { text: '', issuedAtMs: Number.NEGATIVE_INFINITY };

  function authorization(): string {
    if (now() - token.issuedAtMs >= renewAfterMs) {
      const claims = { iss: name, sub: name, aud: 'pets-service', iat: Math.floor(now() / 1000) };
      const text = jwt.sign(claims, privateKey, { algorithm: 'ES256', expiresIn: lifetimeSeconds });
      token = { text, issuedAtMs: now() };
    }
    return `Bearer ${token.text}`;
  }

  /** Send a POST with an Idempotency-Key, so that it can be repeated after a lost connection. */
  return async function callPets(path: string, request: RequestInit = {}): Promise<Response> {
    const headers = new Headers(request.headers);
    const repeatable = (request.method ?? 'GET') === 'GET' || headers.has('idempotency-key');
    for (let attempt = 1; ; attempt += 1) {
      headers.set('authorization', authorization());
      const isLast = attempt === maxAttempts;
      const signal = AbortSignal.timeout(10_000);
      const response = await fetch(url + path, { ...request, headers, signal }).catch((error: unknown) => {
        if (isLast || !repeatable) throw error;
      });
      // The service says so if a retry can succeed and does no harm.
      const retryAfter = response === undefined ? 0.1 * 2 ** attempt : response.headers.get('retry-after');
      if (response !== undefined && (isLast || retryAfter === null)) return response;
      await response?.body?.cancel();
      await sleep(Number(retryAfter) * 1000);
    }
  };
}
