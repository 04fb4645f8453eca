import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { describe, expect, test } from 'vitest';
import type { Caller } from '../../gateway/api-keys/api-keys.ts';
import { createMintToken, issueServiceToken } from '../../gateway/upstream/internal-token.ts';
import { createVerifyToken } from '../../pets-service/internal-token.ts';

const makeKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const current = makeKeys();
const other = makeKeys();

const caller: Caller = {
  id: 'key_1',
  name: 'Billing',
  plan: 'pro',
  hint: 'pets_0123…',
  createdAt: '2026-11-20T10:00:00Z',
  rev: 1,
  sha: 'f'.repeat(64),
};

const verifier = (publicKeys: readonly KeyObject[], now: () => number = Date.now) =>
  createVerifyToken({ publicKeys, now });
const verify = verifier([current.publicKey]);

const token = createMintToken(current.privateKey)(caller);
const { header, payload } = jwt.verify(token, current.publicKey, { complete: true });
const claims = typeof payload === 'string' ? {} : payload;
const expiresAtMs = (claims.exp ?? 0) * 1000;

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token of the gateway's own key, with some claims changed; undefined takes one away. */
function signedWith(changes: Record<string, unknown>, privateKey = current.privateKey): string {
  const changed = Object.fromEntries(
    Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined),
  );
  return jwt.sign(changed, privateKey, { algorithm: 'ES256', ...(header.kid ? { keyid: header.kid } : {}) });
}

describe('a token of the gateway', () => {
  test('tells the pets service in whose name the gateway asks', () => {
    expect(verify(token)).toEqual({ issuer: 'gateway', subject: 'key_1' });
  });

  test('is ES256, for the pets service alone, and lives five minutes', () => {
    expect(header).toEqual({ alg: 'ES256', typ: 'JWT', kid: expect.stringMatching(/^[\w-]{43}$/) });
    expect(claims).toEqual({
      iss: 'gateway',
      aud: 'pets-service',
      sub: 'key_1',
      plan: 'pro',
      iat: expect.any(Number),
      exp: (claims.iat ?? 0) + 300,
    });
  });

  test('serves all requests of one caller', () => {
    const mint = createMintToken(current.privateKey);
    expect(mint({ ...caller })).toBe(mint({ ...caller, rev: 2 }));
  });

  test('is another one for another caller and for another plan', () => {
    const mint = createMintToken(current.privateKey);
    const tokens = [mint(caller), mint({ ...caller, plan: 'free' }), mint({ ...caller, id: 'key_2' })];
    expect(new Set(tokens).size).toBe(3);
    expect(verify(tokens[2] ?? '')).toEqual({ issuer: 'gateway', subject: 'key_2' });
  });
});

test('an internal service is known by the name that its token was issued for', () => {
  const issued = issueServiceToken(current.privateKey, 'billing', 3600);
  expect(verify(issued)).toEqual({ issuer: 'ops', subject: 'billing' });
  expect(verifier([current.publicKey], () => Date.now() + 3_590_000)(issued)).toEqual({
    issuer: 'ops',
    subject: 'billing',
  });
  expect(verifier([current.publicKey], () => Date.now() + 3_610_000)(issued)).toBeUndefined();
});

describe('a token is refused', () => {
  test.each([
    ['for another audience', { aud: 'orders-service' }],
    ['for no audience', { aud: undefined }],
    ['of another issuer', { iss: 'pets-service' }],
    ['of no issuer', { iss: undefined }],
    ['without a subject', { sub: undefined }],
    ['with an empty subject', { sub: '' }],
    ['that never expires', { exp: undefined }],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1000) + 60 }],
  ])('%s', (_name, changes) => {
    // The same token without the change is accepted, so it is the change that counts.
    expect(verify(signedWith({}))).toEqual({ issuer: 'gateway', subject: 'key_1' });
    expect(verify(signedWith(changes))).toBeUndefined();
  });

  test.each([
    ['none', ''],
    ['None', ''],
    ['none', token.split('.')[2]],
  ])('with the algorithm %s and the signature %j', (alg, signature) => {
    expect(verify(`${encode({ ...header, alg })}.${encode(claims)}.${signature}`)).toBeUndefined();
  });

  test.each(['HS256', 'HS384', 'HS512'])('with %s and the public key as its secret', (alg) => {
    const pem = current.publicKey.export({ type: 'spki', format: 'pem' });
    const signed = `${encode({ ...header, alg })}.${encode(claims)}`;
    const signature = createHmac(alg.replace('HS', 'sha'), pem).update(signed).digest('base64url');
    expect(verify(`${signed}.${signature}`)).toBeUndefined();
  });

  test('of an unknown key', () => {
    expect(verify(createMintToken(other.privateKey)(caller))).toBeUndefined();
  });

  test('of an unknown key under the name of a known one', () => {
    expect(verify(signedWith({}, other.privateKey))).toBeUndefined();
  });

  test('that names no key', () => {
    expect(verify(jwt.sign(claims, current.privateKey, { algorithm: 'ES256' }))).toBeUndefined();
  });

  test('with claims changed after signing', () => {
    const [head = '', , signature = ''] = token.split('.');
    expect(verify(`${head}.${encode({ ...claims, sub: 'key_2' })}.${signature}`)).toBeUndefined();
  });

  test.each([
    ['nothing', ''],
    ['one part', 'abc'],
    ['three parts of nonsense', 'a.b.c'],
    ['an API key', 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6'],
    ['a header that is null', `${encode(null)}.${encode(claims)}.c2ln`],
    ['a key name that is no text', `${encode({ ...header, kid: { a: 1 } })}.${encode(claims)}.c2ln`],
    ['claims that are a text', `${encode(header)}.${encode('claims')}.c2ln`],
    ['claims that are no JSON', `${encode(header)}.bm8ganNvbg.c2ln`],
  ])('that is %s', (_name, garbage) => {
    expect(verify(garbage)).toBeUndefined();
  });
});

describe('a token expires', () => {
  test('by the clock of the pets service, which may be off by up to 5 s', () => {
    let nowMs = expiresAtMs - 1;
    const verify = verifier([current.publicKey], () => nowMs);
    expect(verify(token)).toEqual({ issuer: 'gateway', subject: 'key_1' });
    nowMs = expiresAtMs + 4999;
    expect(verify(token)).toEqual({ issuer: 'gateway', subject: 'key_1' });
    nowMs = expiresAtMs + 5000;
    expect(verify(token)).toBeUndefined();
  });

  test('for a verifier that has never seen it', () => {
    expect(verifier([current.publicKey], () => expiresAtMs + 5000)(token)).toBeUndefined();
  });
});

describe('while keys are being rotated', () => {
  const ofOther = createMintToken(other.privateKey)(caller);

  test('tokens of both keys are valid, in whichever order they are configured', () => {
    for (const keys of [
      [current.publicKey, other.publicKey],
      [other.publicKey, current.publicKey],
    ]) {
      const verify = verifier(keys);
      expect([verify(token), verify(ofOther)]).toEqual([
        { issuer: 'gateway', subject: 'key_1' },
        { issuer: 'gateway', subject: 'key_1' },
      ]);
    }
  });

  test('a token of one key under the name of the other is refused', () => {
    const verify = verifier([current.publicKey, other.publicKey]);
    expect(verify(signedWith({}, other.privateKey))).toBeUndefined();
  });

  test('tokens of a key that was taken away are refused', () => {
    const verify = verifier([other.publicKey]);
    expect(verify(token)).toBeUndefined();
    expect(verify(ofOther)).toEqual({ issuer: 'gateway', subject: 'key_1' });
  });

  test('without any key no token is valid', () => {
    expect(verifier([])(token)).toBeUndefined();
  });
});
