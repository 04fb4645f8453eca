import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { describe, expect, test } from 'vitest';
import { createAuthorize } from '../../gateway/upstream/internal-token.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { anyDatabase } from '../support/stores/stores.ts';

const createKeyPair = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const own = createKeyPair();
const foreign = createKeyPair();

const nowSeconds = Math.floor(Date.now() / 1000);
const caller = {
  id: 'key_1',
  customerId: 'cus_1',
  name: '',
  plan: 'pro',
  hint: '',
  createdAt: '',
  rev: 1,
  keyHash: 'f'.repeat(64),
};
const tokenOf = (privateKey: KeyObject) =>
  createAuthorize(privateKey, Date.now, 'pets-service')(caller).slice('Bearer '.length);

const valid = tokenOf(own.privateKey);
const [head = '', body = '', signature = ''] = valid.split('.');
const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object;
const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const header = decode(head) as { alg: string; typ: string; kid: string };
const claims = decode(body);

/** A token with any header and claims, and a valid ES256 signature. */
function signed(headerPart: unknown, claimsPart: unknown, privateKey: KeyObject = own.privateKey): string {
  const text = `${encode(headerPart)}.${encode(claimsPart)}`;
  const bytes = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${bytes.toString('base64url')}`;
}

const withClaims = (changes: object) => signed(header, { ...claims, ...changes });
const withHeader = (changes: object) => signed({ ...header, ...changes }, claims);

/** Algorithm confusion: the public key serves as the secret of an HMAC signature. */
function hmac(alg: string, secret: string | Buffer): string {
  const text = `${encode({ ...header, alg })}.${encode(claims)}`;
  return `${text}.${createHmac(alg.replace('HS', 'sha'), secret).update(text).digest('base64url')}`;
}

const publicPem = own.publicKey.export({ type: 'spki', format: 'pem' });
const publicDer = own.publicKey.export({ type: 'spki', format: 'der' });
const publicJwk = own.publicKey.export({ format: 'jwk' });
const foreignJwk = foreign.publicKey.export({ format: 'jwk' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
const signedBy = (algorithm: jwt.Algorithm, key: KeyObject) =>
  jwt.sign(claims, key, { algorithm, keyid: header.kid });

describe('internal token verification of the pets service', () => {
  const directory = shared(temporaryDirectory);
  const petsService = shared(async () => {
    const file = join(directory.path, 'public.pem');
    await writeFile(file, publicPem);
    return startPetsService({
      DATA_DIR: directory.path,
      ...(await anyDatabase()),
      INTERNAL_TOKEN_PUBLIC_KEY_FILES: file,
    });
  });

  const requestPets = (authorization: string) =>
    send(`${petsService.url}/v1/pets`, { headers: { authorization } });

  async function expectRefused(authorization: string): Promise<void> {
    const response = await requestPets(authorization);
    expect(response.status).toBe(401);
    expect(response.json).toEqual({
      code: 'unauthorized',
      message: 'A valid internal token is required.',
      status: 401,
    });
    expect(response.header('WWW-Authenticate')).toBe('Bearer');
  }

  test.each([
    ['as the gateway signs it', () => valid],
    ['signed again with the same key', () => withClaims({})],
    ['with a kid that is a path, which nothing reads', () => withHeader({ kid: '../../../../dev/null' })],
    ['issued by a clock 50 s ahead', () => withClaims({ iat: nowSeconds + 50 })],
    ['with a subject of 255 characters', () => withClaims({ sub: 'x'.repeat(255) })],
  ])('a token %s is accepted', async (_name, token) => {
    expect((await requestPets(`Bearer ${token()}`)).status).toBe(200);
  });

  test.each([
    ['HS256 and the public key in DER format', hmac('HS256', publicDer)],
    ['HS256 and the public key in JWK format', hmac('HS256', JSON.stringify(publicJwk))],
    ['RS256', signedBy('RS256', rsa.privateKey)],
    ['ES384', signedBy('ES384', p384.privateKey)],
    ['a valid signature and another algorithm in its header', withHeader({ alg: 'ES384' })],
    ['its own key as jwk', signed({ ...header, jwk: foreignJwk }, claims, foreign.privateKey)],
    ['its own jku', signed({ ...header, jku: 'http://127.0.0.1:1/keys.json' }, claims, foreign.privateKey)],
    ['a required extension (crit)', withHeader({ crit: ['exp'] })],
    ['an expiry in the past', withClaims({ exp: nowSeconds - 60 })],
    ['claims that are a list', signed(header, [claims])],
    ['no signature', `${head}.${body}.`],
    ['half a signature', `${head}.${body}.${signature.slice(0, 43)}`],
    [
      'a signature in DER format',
      `${head}.${body}.${sign('sha256', Buffer.from(`${head}.${body}`), own.privateKey).toString('base64url')}`,
    ],
    ['padding at its end', `${valid}====`],
  ])('a token with %s is refused', async (_name, token) => {
    await expectRefused(`Bearer ${token}`);
  });

  test.each([
    ['an empty value', ''],
    ['the token without its scheme', valid],
    ['another scheme', `Basic ${valid}`],
    ['the token twice', `Bearer ${valid} ${valid}`],
    ['the token twice, as a list', `Bearer ${valid}, Bearer ${valid}`],
    ['an API key', `Bearer pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6`],
    ['a valid token of more than 4 KiB', `Bearer ${withClaims({ x: 'x'.repeat(3000) })}`],
    ['a valid token after 4 KiB of spaces', `Bearer ${' '.repeat(4096)}${valid}`],
    ['a token of 12 kB', `Bearer ${head}.${'A'.repeat(12_000)}.${signature}`],
  ])('%s in Authorization is refused', async (_name, authorization) => {
    await expectRefused(authorization);
  });

  test.each([
    ['valid, then garbage', [valid, 'garbage']],
    ['garbage, then valid', ['garbage', valid]],
    ['valid twice', [valid, valid]],
  ])('two Authorization headers are refused: %s', async (_name, tokens) => {
    const headers = tokens.map((token) => `Authorization: Bearer ${token}\r\n`).join('');
    const raw = await sendRaw(
      petsService.port,
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`,
    );
    expect(raw).toMatch(/^HTTP\/1\.1 401 /);
  });

  test('a token in the query or in a cookie is ignored', async () => {
    const url = `${petsService.url}/v1/pets?access_token=${valid}&token=${valid}`;
    const cookie = `token=${valid}; Authorization=Bearer ${valid}`;
    expect((await send(url, { headers: { cookie } })).status).toBe(401);
  });

  test('a token of 64 kB gets 401, one over the header limit 431, and the service keeps working', async () => {
    expect((await requestPets(`Bearer ${'A'.repeat(64 * 1024)}`)).status).toBe(401);
    expect((await requestPets(`Bearer ${'A'.repeat(96 * 1024)}`)).status).toBe(431);
    expect((await requestPets(`Bearer ${valid}`)).status).toBe(200);
  });

  test('the log has the reason why a token was refused, and not the token', () => {
    expect(petsService.output()).not.toContain(signature);
    expect(petsService.output()).not.toContain(body);
    expect(petsService.output()).toMatch(/"status":401,"tokenRefusal":"jwt expired"/);
  });
});
