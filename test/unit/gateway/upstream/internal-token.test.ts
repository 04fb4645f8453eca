import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { loadPrivateKey, readPrivateKey } from '../../../../gateway/upstream/internal-token.ts';
import { loadConfig } from '../../../../pets-service/config.ts';
import { loadPublicKeys } from '../../../../pets-service/internal-token.ts';
import { shared } from '../../../support/kits/shared.ts';
import { temporaryDirectory } from '../../../support/kits/temporary-directory.ts';

const directory = shared(temporaryDirectory);
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const privatePem = (key: KeyObject, encryption = {}) =>
  key.export({ type: 'pkcs8', format: 'pem', ...encryption });

beforeAll(() => {
  const encryption = { cipher: 'aes-256-cbc', passphrase: 'secret' };
  writeFileSync(pathOf('encrypted.pem'), privatePem(p256.privateKey, encryption));
  writeFileSync(pathOf('text'), 'hello\n');
  writeFileSync(pathOf('empty'), '');
  for (const [name, { privateKey, publicKey }] of Object.entries({ p256, p384, rsa })) {
    writeFileSync(pathOf(`${name}.pem`), privatePem(privateKey));
    writeFileSync(pathOf(`${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }));
  }
});

const pathOf = (name: string) => join(directory.path, name);
const wrongKind = 'is not an EC key on the curve P-256, which ES256 needs';

describe('a file for a private key is refused', () => {
  test.each([
    ['none.pem', "FILE can't be read (ENOENT: no such file or directory, open 'FILE')"],
    ...['text', 'empty', 'p256.pub', 'encrypted.pem'].map((name) => [
      name,
      'FILE has no unencrypted private key in PEM format',
    ]),
    ...['p384.pem', 'rsa.pem'].map((name) => [name, `the private key in FILE ${wrongKind}`]),
  ])('%s', (name = '', message = '') => {
    const file = pathOf(name);
    expect(() => readPrivateKey('A_SETTING', file)).toThrow(
      new Error(`A_SETTING: ${message.replaceAll('FILE', file)}`),
    );
  });
});

describe('the second of two files for public keys is refused', () => {
  test.each([
    ['none.pem', "ENOENT: no such file or directory, open 'FILE'"],
    ['text', ''],
    ['empty', ''],
    ['p256.pem', 'it is a private key, which its owner alone has'],
    ['p384.pub', `it ${wrongKind}`],
    ['rsa.pub', `it ${wrongKind}`],
  ])('%s', (name, message) => {
    const file = pathOf(name);
    const config = loadConfig({ INTERNAL_TOKEN_PUBLIC_KEY_FILES: `${pathOf('p256.pub')},${file}` });
    expect(() => loadPublicKeys(config)).toThrow(
      `INTERNAL_TOKEN_PUBLIC_KEY_FILES: ${file} can't be used as a public key: ${message.replaceAll('FILE', file)}`,
    );
  });
});

test('half a key pair in the data directory is enough for the service that needs it', () => {
  const pair = pathOf('internal-token');
  mkdirSync(pair);
  copyFileSync(pathOf('p256.pem'), join(pair, 'private.pem'));
  expect(loadPrivateKey(undefined, directory.path).equals(p256.privateKey)).toBe(true);
});
