import { hash, type KeyObject } from 'node:crypto';

/** A public key, and what a token that is signed with it may say. */
export interface TrustedKey {
  publicKey: KeyObject;
  /** Values of `iss`. */
  issuers: [string, ...string[]];
}

/** An internal service that signs its own tokens. */
export interface CallerKey {
  /** Name of the service, and the issuer of its tokens. */
  name: string;
  publicKey: KeyObject;
}

export interface TrustedKeys {
  /**
   * The keys that may have signed a token: the one that it names, or all of the caller that it says it is from. A caller
   * need not compute the key's id.
   */
  candidates(token: { kid: string | undefined; issuer: unknown }): readonly TrustedKey[];
}

/** The gateway's key signs for both: the ops command uses it, too. */
export const gatewayIssuers: [string, string] = ['gateway', 'ops'];

/**
 * Maximum of `exp` minus `iat`. A token should live for minutes: one that lives for years would be a password. Those of the
 * gateway live for 5 minutes; a person can ask the ops command for one that lives for a day.
 */
export const maxLifetimeSeconds = (issuer: string): number => (issuer === 'ops' ? 86_400 : 3600);

/** @throws Error that names both if two callers, or a caller and the gateway, have the same key */
export function createTrustedKeys(
  gatewayKeys: readonly KeyObject[],
  callerKeys: readonly CallerKey[],
): TrustedKeys {
  const byId = new Map<string, TrustedKey>();
  for (const publicKey of gatewayKeys) {
    byId.set(keyId(publicKey), { publicKey, issuers: gatewayIssuers });
  }
  const byName = new Map<string, TrustedKey[]>();
  for (const { name, publicKey } of callerKeys) {
    const owner = byId.get(keyId(publicKey))?.issuers[0];
    if (owner !== undefined) {
      throw new Error(
        `PETS_SERVICE_CALLER_KEYS: a key of ${name} is also a key of ${owner}: each key belongs to one name, and is listed once`,
      );
    }
    const key: TrustedKey = { publicKey, issuers: [name] };
    byId.set(keyId(publicKey), key);
    byName.set(name, [...(byName.get(name) ?? []), key]);
  }
  return {
    candidates({ kid, issuer }) {
      const named = byId.get(kid ?? '');
      if (named !== undefined) return [named];
      return typeof issuer === 'string' ? (byName.get(issuer) ?? []) : [];
    },
  };
}

/** JWK thumbprint of the key (RFC 7638), as the gateway computes it. */
function keyId(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicKey.export({ format: 'jwk' });
  return hash('sha256', JSON.stringify({ crv, kty, x, y }), 'base64url');
}
