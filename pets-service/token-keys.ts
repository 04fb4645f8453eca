import type { KeyObject } from 'node:crypto';
import { join } from 'node:path';
import { text } from '#runtime/environment.ts';
import { publicKeyId, readKeyFile } from '#runtime/key-file.ts';
import { ensureTokenKeyPair } from '#runtime/token-key-pair.ts';

/** A public key, and what a token that is signed with it may say. */
export interface TrustedKey {
  publicKey: KeyObject;
  /** Values of `iss`. The name of an internal service is a label of metrics, too. */
  issuers: [string, ...string[]];
}

export type TrustedKeys = ReturnType<typeof createTrustedKeys>;

/** The gateway's key signs for both: the ops command uses it, too. */
export const gatewayIssuers: TrustedKey['issuers'] = ['gateway', 'ops'];

/** @throws Error that names both if two callers, or a caller and the gateway, have the same key */
export function createTrustedKeys(gatewayKeys: readonly TrustedKey[], callerKeys: readonly TrustedKey[]) {
  const byId = new Map(gatewayKeys.map((key) => [publicKeyId(key.publicKey), key]));
  for (const key of callerKeys) {
    const id = publicKeyId(key.publicKey);
    const owner = byId.get(id)?.issuers[0];
    if (owner !== undefined) {
      throw new Error(
        `PETS_SERVICE_CALLER_KEYS: a key of ${key.issuers[0]} is also a key of ${owner}: each key belongs to one name, and is listed once`,
      );
    }
    byId.set(id, key);
  }

  return {
    /** The keys that may have signed a token: the one that it names, or all of the caller that it says it is from. */
    candidates(kid: string | undefined, issuer: unknown): readonly TrustedKey[] {
      const named = byId.get(kid ?? '');
      return named === undefined ? callerKeys.filter(({ issuers }) => issuers[0] === issuer) : [named];
    },
  };
}

interface KeyFiles {
  publicKeyFiles: readonly string[];
  callerKeyFiles: readonly { name: string; path: string }[];
  dataDirectory: string;
}

/**
 * Loads the keys that verify internal tokens. The data directory's own pair is made if it is missing.
 * @throws Error that names the setting and the file if it can't be read or does not hold one EC P-256 public key
 */
export function loadTrustedKeys({ publicKeyFiles, callerKeyFiles, dataDirectory }: KeyFiles): TrustedKeys {
  // The callers' first: if one is invalid, nothing is made in the data directory.
  const callerKeys = callerKeyFiles.map(({ name, path }) =>
    readKey('PETS_SERVICE_CALLER_KEYS', path, [name]),
  );
  const isOwn = publicKeyFiles.length === 0;
  const setting = isOwn ? 'DATA_DIR' : 'INTERNAL_TOKEN_PUBLIC_KEY_FILES';
  const files = isOwn ? [join(ensureTokenKeyPair(dataDirectory), 'public.pem')] : publicKeyFiles;
  const gatewayKeys = files.map((path) => readKey(setting, path, gatewayIssuers));
  return createTrustedKeys(gatewayKeys, callerKeys);
}

function readKey(setting: string, path: string, issuers: TrustedKey['issuers']): TrustedKey {
  const owner = issuers === gatewayIssuers ? 'the gateway' : issuers[0];
  function findIssue(pem: string): string | undefined {
    // Node would use its public half. A reader of this service's files must not be able to sign tokens.
    if (pem.includes('PRIVATE KEY-----')) return `holds a private key, which only ${owner} should have`;
    // Node would use the first one, and refuse tokens of the others.
    if (pem.split('-----BEGIN ').length > 2) return 'has more than one key: use one file for each key';
    return undefined;
  }
  return { publicKey: readKeyFile({ setting, path, kind: 'public', findIssue }), issuers };
}

/** The setting PETS_SERVICE_CALLER_KEYS: `name:file`, separated by commas. A name with two keys is being rotated. */
export const callerKeyFiles = text
  .transform((list, context) =>
    list.split(',').map((entry) => {
      const [, name = '', path = ''] = /^([^:]*):\s*(\S.*)?$/s.exec(entry.trim()) ?? [];
      const issue = findIssue(name, path);
      if (issue !== undefined) {
        context.addIssue({ code: 'custom', message: `holds ${JSON.stringify(entry.trim())}: ${issue}` });
      }
      return { name, path };
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
