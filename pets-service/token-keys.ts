import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { text } from '#runtime/environment.ts';
import { publicKeyId, readKeyFile } from '#runtime/key-file.ts';
import { ensureTokenKeyPair } from '#runtime/token-key-pair.ts';

/** A public key, and what a token that is signed with it may say. */
export interface TrustedKey {
  publicKey: KeyObject;
  /** Values of `iss`. */
  issuers: [string, ...string[]];
}

/** An internal service that signs its own tokens. Its name is the issuer of its tokens, and a label of metrics. */
export interface CallerKey {
  name: string;
  publicKey: KeyObject;
}

export type TrustedKeys = ReturnType<typeof createTrustedKeys>;

/** The gateway's key signs for both: the ops command uses it, too. */
export const gatewayIssuers: [string, string] = ['gateway', 'ops'];

/** @throws Error that names both if two callers, or a caller and the gateway, have the same key */
export function createTrustedKeys(gatewayKeys: readonly KeyObject[], callerKeys: readonly CallerKey[]) {
  const byId = new Map<string, TrustedKey>();
  for (const publicKey of gatewayKeys)
    byId.set(publicKeyId(publicKey), { publicKey, issuers: gatewayIssuers });
  for (const { name, publicKey } of callerKeys) {
    const owner = byId.get(publicKeyId(publicKey))?.issuers[0];
    if (owner !== undefined) {
      throw new Error(
        `PETS_SERVICE_CALLER_KEYS: a key of ${name} is also a key of ${owner}: each key belongs to one name, and is listed once`,
      );
    }
    byId.set(publicKeyId(publicKey), { publicKey, issuers: [name] });
  }
  const callers = Array.from(byId.values()).filter(({ issuers }) => issuers !== gatewayIssuers);

  return {
    /** The keys that may have signed a token: the one that it names, or all of the caller that it says it is from. */
    candidates({ kid, issuer }: { kid: string | undefined; issuer: unknown }): readonly TrustedKey[] {
      const named = byId.get(kid ?? '');
      return named === undefined ? callers.filter(({ issuers }) => issuers[0] === issuer) : [named];
    },
  };
}

/**
 * Loads the keys that verify internal tokens: from the given files, or else the data directory's own pair, which is made if
 * it is missing.
 * @throws Error that names the setting and the file if it can't be read or does not hold one EC P-256 public key
 */
export function loadPublicKeys(files: readonly string[], dataDirectory: string): KeyObject[] {
  const owner = 'the gateway';
  if (files.length > 0) return files.map((path) => readKey('INTERNAL_TOKEN_PUBLIC_KEY_FILES', path, owner));
  return [readKey('DATA_DIR', join(ensureTokenKeyPair(dataDirectory), 'public.pem'), owner)];
}

/** Loads the public keys of internal services. @throws Error as loadPublicKeys */
export function loadCallerKeys(files: readonly { name: string; path: string }[]): CallerKey[] {
  return files.map(({ name, path }) => ({
    name,
    publicKey: readKey('PETS_SERVICE_CALLER_KEYS', path, name),
  }));
}

/** @param owner the only one that should have the private key */
function readKey(setting: string, path: string, owner: string): KeyObject {
  return readKeyFile({
    setting,
    path,
    kind: 'public',
    findIssue(pem) {
      // Node would use its public half. A reader of this service's files must not be able to sign tokens.
      if (pem.includes('PRIVATE KEY-----')) return `holds a private key, which only ${owner} should have`;
      // Node would use the first one, and refuse tokens of the others.
      return pem.split('-----BEGIN ').length > 2
        ? 'has more than one key: use one file for each key'
        : undefined;
    },
  });
}

/** The setting PETS_SERVICE_CALLER_KEYS: `name:file`, separated by commas. A name with two keys is being rotated. */
export const callerKeyFiles = text
  .transform((list, context) =>
    list.split(',').map((entry) => {
      const [, name = '', path = ''] = /^([^:]*):(.*)$/s.exec(entry.trim()) ?? [];
      const issue = findIssue(name, path.trim());
      if (issue !== undefined) {
        context.addIssue({ code: 'custom', message: `holds ${JSON.stringify(entry.trim())}: ${issue}` });
      }
      return { name, path: path.trim() };
    }),
  )
  .default([]);

function findIssue(name: string, path: string): string | undefined {
  if (name === '' || path === '') return 'an entry is a name and a file, such as billing:/keys/billing.pem';
  // `none` is the label of requests without a valid token.
  if ([...gatewayIssuers, 'none'].includes(name)) return `the name ${name} is reserved`;
  if (/^[a-z\d][a-z\d._-]{0,62}$/.test(name)) return undefined;
  return 'a name has 1 to 63 lower-case letters, digits, dots, hyphens and underscores';
}
