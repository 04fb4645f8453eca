import { createHmac, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAuthorize } from '../../gateway/upstream/internal-token.ts';
import { send, sendRaw } from '../support/http/http.ts';
import { startPetsService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';

const makeKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const own = makeKeys();
const foreign = makeKeys();

const nowSeconds = Math.floor(Date.now() / 1000);
const caller = {
  id: 'key_1',
  name: '',
  plan: 'pro',
  hint: '',
  createdAt: '',
  rev: 1,
  keyHash: 'f'.repeat(64),
};
const tokenOf = (privateKey: KeyObject) =>
  createAuthorize(privateKey, Date.now)(caller).slice('Bearer '.length);

const valid = tokenOf(own.privateKey);
const [head = '', body = '', signature = ''] = valid.split('.');
const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString()) as object;
const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
const header = decode(head) as { alg: string; typ: string; kid: string };
const claims = decode(body);
const without = (claim: string) =>
  Object.fromEntries(Object.entries(claims).filter(([name]) => name !== claim));

/** A signature as ES256 makes it, over a header and claims of the test's choice. */
function signed(headerPart: unknown, claimsPart: unknown, privateKey: KeyObject = own.privateKey): string {
  const text = `${encode(headerPart)}.${encode(claimsPart)}`;
  const made = sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return `${text}.${made.toString('base64url')}`;
}

const withClaims = (changes: object) => signed(header, { ...claims, ...changes });
const withHeader = (changes: object) => signed({ ...header, ...changes }, claims);

/** The oldest trick: the public key, known to everybody, as the secret of a symmetric signature. */
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

describe('the pets service as a process', () => {
  let directory: TemporaryDirectory;
  let petsService: Service;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    const file = join(directory.path, 'public.pem');
    await writeFile(file, publicPem);
    petsService = await startPetsService({
      DATA_DIR: directory.path,
      INTERNAL_TOKEN_PUBLIC_KEY_FILES: file,
    });
  });

  afterAll(async () => {
    await petsService[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const ask = (authorization: string) => send(`${petsService.url}/v1/pets`, { headers: { authorization } });

  async function expectRefused(authorization: string): Promise<void> {
    const response = await ask(authorization);
    expect(response.status).toBe(401);
    expect(response.json).toEqual({
      code: 'unauthorized',
      message: 'A valid internal token is required.',
      status: 401,
    });
    expect(response.header('WWW-Authenticate')).toBe('Bearer');
  }

  test.each([
    ['as the gateway makes it', () => valid],
    ['signed anew by the same key', () => withClaims({})],
    ['issued by a clock that is 50 s ahead', () => withClaims({ iat: nowSeconds + 50 })],
  ])('a token %s is accepted', async (_name, token) => {
    expect((await ask(`Bearer ${token()}`)).status).toBe(200);
  });

  test.each([
    ['alg none and no signature', `${encode({ ...header, alg: 'none' })}.${body}.`],
    [
      'alg none and the signature of a valid token',
      `${encode({ ...header, alg: 'none' })}.${body}.${signature}`,
    ],
    ['alg NONE', `${encode({ ...header, alg: 'NONE' })}.${body}.`],
    ['no alg', withHeader({ alg: undefined })],
    ['HS256 with the public key as PEM for a secret', hmac('HS256', publicPem)],
    ['HS256 with that PEM without its last line break', hmac('HS256', publicPem.toString().trim())],
    ['HS384 with that PEM', hmac('HS384', publicPem)],
    ['HS512 with that PEM', hmac('HS512', publicPem)],
    ['HS256 with the public key as DER', hmac('HS256', publicDer)],
    ['HS256 with the public key as JWK', hmac('HS256', JSON.stringify(publicJwk))],
    ['HS256 with an empty secret', hmac('HS256', '')],
    ['HS256 with its kid as the secret', hmac('HS256', header.kid)],
    ['RS256', signedBy('RS256', rsa.privateKey)],
    ['PS256', signedBy('PS256', rsa.privateKey)],
    ['ES384', signedBy('ES384', p384.privateKey)],
    ['our signature under the name of another algorithm', withHeader({ alg: 'ES384' })],
    ['our kid, signed with another key', signed(header, claims, foreign.privateKey)],
    ['another key and its own kid', tokenOf(foreign.privateKey)],
    ['another kid', withHeader({ kid: 'other' })],
    ['no kid', withHeader({ kid: undefined })],
    ['an empty kid', withHeader({ kid: '' })],
    ['a kid that is a number', withHeader({ kid: 1 })],
    ['a kid that is a list', withHeader({ kid: [header.kid] })],
    ['a kid that is a path', withHeader({ kid: '../../../../dev/null' })],
    ['a kid that is a file of keys', withHeader({ kid: 'file:///etc/ssl/private/key.pem' })],
    ['a kid that is SQL', withHeader({ kid: "' UNION SELECT 'key' -- " })],
    ['a kid that is a command', withHeader({ kid: '| sleep 5' })],
    ['a kid that every object has', withHeader({ kid: '__proto__' })],
    ['a key of its own as jwk', signed({ ...header, jwk: foreignJwk }, claims, foreign.privateKey)],
    [
      'a key of its own as jwk and no kid',
      signed({ alg: 'ES256', typ: 'JWT', jwk: foreignJwk }, claims, foreign.privateKey),
    ],
    [
      'a jku of its own',
      signed({ ...header, jku: 'http://127.0.0.1:1/keys.json' }, claims, foreign.privateKey),
    ],
    ['an x5u of its own', signed({ ...header, x5u: 'http://127.0.0.1:1/x' }, claims, foreign.privateKey)],
    ['requires an extension', withHeader({ crit: ['exp'] })],
    ['an unknown one of those', withHeader({ crit: ['https://x.example/e'], 'https://x.example/e': true })],
    ['an empty list of those', withHeader({ crit: [] })],
    ['another audience', withClaims({ aud: 'orders-service' })],
    ['an audience that only begins like ours', withClaims({ aud: 'pets-service.evil.example' })],
    ['no audience', signed(header, without('aud'))],
    ['another issuer', withClaims({ iss: 'pets-service' })],
    ['a list of issuers', withClaims({ iss: ['gateway', 'evil'] })],
    ['no issuer', signed(header, without('iss'))],
    ['no subject', signed(header, without('sub'))],
    ['a subject that is a number', withClaims({ sub: 1 })],
    ['an expiry that is over', withClaims({ exp: nowSeconds - 60 })],
    ['an expiry that is over, as a text', withClaims({ exp: String(nowSeconds + 60) })],
    ['no expiry', signed(header, without('exp'))],
    ['a beginning that is to come', withClaims({ nbf: nowSeconds + 120 })],
    ['a time of issue that is to come', withClaims({ iat: nowSeconds + 600, exp: nowSeconds + 900 })],
    ['no time of issue', signed(header, without('iat'))],
    ['claims that are a list', signed(header, [claims])],
    ['claims that are a text', signed(header, 'gateway')],
    [
      'another subject under the same signature',
      `${head}.${encode({ ...claims, sub: 'key_2' })}.${signature}`,
    ],
    ['another header under the same signature', `${encode({ ...header, x: 1 })}.${body}.${signature}`],
    ['no signature', `${head}.${body}.`],
    ['two parts', `${head}.${body}`],
    ['four parts', `${valid}.${signature}`],
    ['half a signature', `${head}.${body}.${signature.slice(0, 43)}`],
    ['a signature without its last byte', `${head}.${body}.${signature.slice(0, -2)}`],
    ['a signature with a byte more', `${head}.${body}.${signature}AA`],
    ['its signature twice', `${head}.${body}.${signature}${signature}`],
    ['a signature of zeros', `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`],
    [
      'a signature as DER',
      `${head}.${body}.${sign('sha256', Buffer.from(`${head}.${body}`), own.privateKey).toString('base64url')}`,
    ],
    ['a line of padding', `${valid}====`],
  ])('a token with %s is refused', async (_name, token) => {
    await expectRefused(`Bearer ${token}`);
  });

  test.each([
    ['nothing', ''],
    ['the token without its scheme', valid],
    ['another scheme', `Basic ${valid}`],
    ['the token twice', `Bearer ${valid} ${valid}`],
    ['the token twice, as a list', `Bearer ${valid}, Bearer ${valid}`],
    ['an API key', `Bearer pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6`],
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

  test('a token in the query, in a cookie or in a body counts for nothing', async () => {
    const url = `${petsService.url}/v1/pets?access_token=${valid}&token=${valid}`;
    const cookie = `token=${valid}; Authorization=Bearer ${valid}`;
    expect((await send(url, { headers: { cookie } })).status).toBe(401);
  });

  test('a token of 64 kB is none, a larger one is not even read, and the service goes on', async () => {
    expect((await ask(`Bearer ${'A'.repeat(64 * 1024)}`)).status).toBe(401);
    expect((await ask(`Bearer ${'A'.repeat(96 * 1024)}`)).status).toBe(431);
    expect((await ask(`Bearer ${valid}`)).status).toBe(200);
  });

  test('of a refused token the log has the reason, and nothing else', () => {
    expect(petsService.output()).not.toContain(signature);
    expect(petsService.output()).not.toContain(body);
    expect(petsService.output()).toMatch(/"status":401,"tokenRefusal":"expired \d+ s ago/);
  });
});
