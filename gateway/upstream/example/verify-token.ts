import { createPublicKey } from 'node:crypto';
import jwt from 'jsonwebtoken';

/** In whose name a request is made. */
export interface Caller {
  /** Id of the customer. */
  id: string;
  /** Plan of the customer; undefined for a person or a script with a token of `ops tokens issue`. */
  plan: string | undefined;
}

/**
 * Creates the check of the Authorization header of requests from the gateway. Copy it into your service.
 * @param publicKeyPem public key of the gateway, which can sign nothing
 * @param audience of your service in the services file: a token of another service is refused
 */
export function createVerifyToken(publicKeyPem: string, audience: string) {
  const publicKey = createPublicKey(publicKeyPem);
  /** @returns undefined if the request is not from the gateway: respond with 401 */
  return function verifyToken(authorization: string | undefined): Caller | undefined {
    const [, token = ''] = /^Bearer (\S{1,4096})$/i.exec(authorization ?? '') ?? [];
    try {
      // The algorithm is fixed: what a token says of itself decides nothing (RFC 8725 section 3.1).
      const claims = jwt.verify(token, publicKey, {
        algorithms: ['ES256'],
        audience,
        issuer: ['gateway', 'ops'],
        clockTolerance: 5,
      });
      if (typeof claims === 'string' || claims.sub === undefined) return undefined;
      const plan: unknown = claims['plan'];
      return { id: claims.sub, plan: typeof plan === 'string' ? plan : undefined };
    } catch {
      return undefined;
    }
  };
}
