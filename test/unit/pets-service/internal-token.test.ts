import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { describe, expect, test } from 'vitest';
import { createAuthorize, issueServiceToken } from '../../../gateway/upstream/internal-token.ts';
import { createVerifyToken, TokenRefused, type TokenCaller } from '../../../pets-service/internal-token.ts';

const makeKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const current = makeKeys();
const other = makeKeys();

const caller = { id: 'key_1', plan: 'pro' };

/** What makes a caller of a token, or a reason why it is refused. */
function verifier(publicKeys: readonly KeyObject[], now: () => number = Date.now) {
  const verifyToken = createVerifyToken({ publicKeys, now });
  return function verify(token: string): TokenCaller | string {
    try {
      return verifyToken(token);
    } catch (error) {
      if (error instanceof TokenRefused) return error.message;
      throw error;
    }
  };
}
const verify = verifier([current.publicKey]);

/** The token of the Authorization header that the gateway sends. */
const tokenOf = (privateKey: KeyObject, now = Date.now) => {
  const authorize = createAuthorize(privateKey, now);
  return (of = caller) => authorize(of).slice('Bearer '.length);
};

const token = tokenOf(current.privateKey)();
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
    const mint = tokenOf(current.privateKey);
    expect(mint({ ...caller })).toBe(mint({ ...caller }));
  });

  test('is another one for another caller and for another plan', () => {
    const mint = tokenOf(current.privateKey);
    const tokens = [mint(), mint({ ...caller, plan: 'free' }), mint({ ...caller, id: 'key_2' })];
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
  expect(verifier([current.publicKey], () => Date.now() + 3_610_000)(issued)).toMatch(/^expired 10 s ago/);
});

describe('a token is refused, and the log told why,', () => {
  const unknownKey = 'signed with a key that is not among the public keys';
  const badClaims = 'claims are missing or have a wrong type';

  test.each([
    ['for another audience', { aud: 'orders-service' }, 'jwt audience invalid. expected: pets-service'],
    ['for no audience', { aud: undefined }, 'jwt audience invalid. expected: pets-service'],
    ['of another issuer', { iss: 'pets-service' }, 'jwt issuer invalid. expected: gateway,ops'],
    ['of no issuer', { iss: undefined }, 'jwt issuer invalid. expected: gateway,ops'],
    ['without a subject', { sub: undefined }, badClaims],
    ['with an empty subject', { sub: '' }, badClaims],
    ['that never expires', { exp: undefined }, badClaims],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1000) + 60 }, 'jwt not active'],
  ])('%s', (_name, changes, reason) => {
    // The same token without the change is accepted, so it is the change that counts.
    expect(verify(signedWith({}))).toEqual({ issuer: 'gateway', subject: 'key_1' });
    expect(verify(signedWith(changes))).toBe(reason);
  });

  test.each([
    ['none', ''],
    ['None', ''],
    ['none', token.split('.')[2]],
  ])('with the algorithm %s and the signature %j', (alg, signature) => {
    const refusal = signature === '' ? 'jwt signature is required' : 'invalid algorithm';
    expect(verify(`${encode({ ...header, alg })}.${encode(claims)}.${signature}`)).toBe(refusal);
  });

  test.each(['HS256', 'HS384', 'HS512'])('with %s and the public key as its secret', (alg) => {
    const pem = current.publicKey.export({ type: 'spki', format: 'pem' });
    const signed = `${encode({ ...header, alg })}.${encode(claims)}`;
    const signature = createHmac(alg.replace('HS', 'sha'), pem).update(signed).digest('base64url');
    expect(verify(`${signed}.${signature}`)).toBe('invalid algorithm');
  });

  test('of an unknown key', () => {
    expect(verify(tokenOf(other.privateKey)())).toBe(unknownKey);
  });

  test('of an unknown key under the name of a known one', () => {
    expect(verify(signedWith({}, other.privateKey))).toBe('invalid signature');
  });

  test('that names no key', () => {
    expect(verify(jwt.sign(claims, current.privateKey, { algorithm: 'ES256' }))).toBe(unknownKey);
  });

  test('with claims changed after signing', () => {
    const [head = '', , signature = ''] = token.split('.');
    expect(verify(`${head}.${encode({ ...claims, sub: 'key_2' })}.${signature}`)).toBe('invalid signature');
  });

  test.each([
    ['nothing', '', 'not a JSON Web Token'],
    ['one part', 'abc', 'not a JSON Web Token'],
    ['three parts of nonsense', 'a.b.c', 'not a JSON Web Token'],
    ['an API key', 'pets_0123456789ABCDEFGHIJKLMNOPQRSTUV44pYd6', 'not a JSON Web Token'],
    ['a header that is null', `${encode(null)}.${encode(claims)}.c2ln`, 'not a JSON Web Token'],
    [
      'a key name that is no text',
      `${encode({ ...header, kid: { a: 1 } })}.${encode(claims)}.c2ln`,
      unknownKey,
    ],
    ['claims that are a text', `${encode(header)}.${encode('claims')}.c2ln`, 'not a valid token'],
    ['claims that are no JSON', `${encode(header)}.bm8ganNvbg.c2ln`, 'not a JSON Web Token'],
  ])('that is %s', (_name, garbage, reason) => {
    expect(verify(garbage)).toBe(reason);
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
    expect(verify(token)).toBe('expired 5 s ago by the clock of this host');
  });

  test('for a verifier that has never seen it', () => {
    expect(verifier([current.publicKey], () => expiresAtMs + 5000)(token)).toMatch(/^expired 5 s ago/);
  });
});

describe('the gateway', () => {
  const startMs = Date.now();
  const minuteMs = 60_000;
  const issuedAtMs = (token: string) => (jwt.decode(token, { json: true })?.iat ?? 0) * 1000;

  function mintTwice(afterMs: number): string[] {
    let nowMs = startMs;
    const mint = tokenOf(current.privateKey, () => nowMs);
    const first = mint();
    nowMs += afterMs;
    return [first, mint()];
  }

  test('keeps a token while it lives for more than a minute', () => {
    const [first, second] = mintTwice(4 * minuteMs - 1);
    expect(second).toBe(first);
  });

  test.each([
    ['a minute before the old one expires', 4 * minuteMs],
    ['where the clock leapt, as after a sleep of the machine', 3 * 60 * minuteMs],
    ['where the clock was set back, lest it have one from the future', -2 * minuteMs],
  ])('makes a new one %s', (_name, leapMs) => {
    const [, second = ''] = mintTwice(leapMs);
    const nowMs = startMs + leapMs;
    expect(issuedAtMs(second)).toBe(Math.floor(nowMs / 1000) * 1000);
    expect(verifier([current.publicKey], () => nowMs)(second)).toEqual({
      issuer: 'gateway',
      subject: 'key_1',
    });
  });
});

test('a token from more than a minute in the future was made by no clock of ours', () => {
  const issuedAtMs = (claims.iat ?? 0) * 1000;
  const verifyBefore = (ms: number) => verifier([current.publicKey], () => issuedAtMs - ms)(token);
  expect(verifyBefore(60_000)).toEqual({ issuer: 'gateway', subject: 'key_1' });
  expect(verifyBefore(61_000)).toBe('issued 61 s in the future by the clock of this host');
});

describe('while keys are being rotated', () => {
  const ofOther = tokenOf(other.privateKey)();

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
    expect(verify(signedWith({}, other.privateKey))).toBe('invalid signature');
  });

  test('tokens of a key that was taken away are refused', () => {
    const verify = verifier([other.publicKey]);
    expect(verify(token)).toMatch(/^signed with a key/);
    expect(verify(ofOther)).toEqual({ issuer: 'gateway', subject: 'key_1' });
  });

  test('without any key no token is valid', () => {
    expect(verifier([])(token)).toMatch(/^signed with a key/);
  });
});
