import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { describe, expect, test } from 'vitest';
import { createAuthorize, issueServiceToken } from '../../../gateway/upstream/internal-token.ts';
import { createVerifyToken, type TokenCaller } from '../../../pets-service/internal-token.ts';

const generateKeys = () => generateKeyPairSync('ec', { namedCurve: 'P-256' });
const current = generateKeys();
const other = generateKeys();

/** What its tokens say. */
const genuine = { issuer: 'gateway', subject: 'cus_1' };
const caller = { id: 'key_1', customerId: 'cus_1', plan: 'pro' };

/** @returns a function that returns the caller of a token, or the reason for its refusal */
function createVerify(
  gateway: readonly KeyObject[],
  now: () => number = Date.now,
  callers: Record<string, readonly KeyObject[]> = {},
) {
  const keys = new Map(Object.entries({ ...callers, gateway, ops: gateway }));
  const verifyToken = createVerifyToken((issuer) => keys.get(String(issuer)) ?? [], now);
  return function verify(token: string): TokenCaller | string {
    try {
      return verifyToken(token);
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
}
const verify = createVerify([current.publicKey]);

/** Issues tokens as the gateway does in the Authorization header. */
const createIssueToken = (privateKey: KeyObject, now = Date.now) => {
  const authorize = createAuthorize(privateKey, now, 'pets-service');
  return (tokenCaller = caller) => authorize(tokenCaller).slice('Bearer '.length);
};

const token = createIssueToken(current.privateKey)();
const { header, payload } = jwt.verify(token, current.publicKey, { complete: true });
const claims = typeof payload === 'string' ? {} : payload;
const expiresAtMs = (claims.exp ?? 0) * 1000;

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A token signed with the gateway's key and changed claims; undefined removes a claim. */
function signedWith(changes: Record<string, unknown>, key = current.privateKey, kid = header.kid): string {
  const changed = Object.fromEntries(
    Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined),
  );
  return jwt.sign(changed, key, { algorithm: 'ES256', ...(kid ? { keyid: kid } : {}) });
}

describe('a token of the gateway', () => {
  test('is signed with ES256, valid only for the pets service, and expires after five minutes', () => {
    expect(verify(token)).toEqual(genuine);
    expect(header).toEqual({ alg: 'ES256', typ: 'JWT', kid: expect.stringMatching(/^[\w-]{43}$/) });
    expect(claims).toEqual({
      iss: 'gateway',
      aud: 'pets-service',
      sub: 'cus_1',
      key: 'key_1',
      plan: 'pro',
      iat: expect.any(Number),
      exp: (claims.iat ?? 0) + 300,
    });
  });

  test('differs between callers and between plans', () => {
    const issueToken = createIssueToken(current.privateKey);
    const tokens = [
      issueToken(),
      issueToken({ ...caller, plan: 'free' }),
      issueToken({ ...caller, id: 'key_2', customerId: 'cus_2' }),
    ];
    expect(new Set(tokens).size).toBe(3);
    expect(verify(tokens[2] ?? '')).toEqual({ issuer: 'gateway', subject: 'cus_2' });
  });
});

test('a service token names its internal service until it expires', () => {
  const issued = issueServiceToken(current.privateKey, 'billing', 3600, 'pets-service');
  const verifyAfter = (ms: number) => createVerify([current.publicKey], () => Date.now() + ms)(issued);
  expect(verifyAfter(3_590_000)).toEqual({ issuer: 'ops', subject: 'billing' });
  expect(verifyAfter(3_610_000)).toMatch('jwt expired');
});

describe('a token is refused with a reason for the log', () => {
  const unknownKey = 'signed with a key that is not among the public keys of its issuer';
  const badClaims = 'claims are missing, too long or of a wrong type';

  test.each([
    ['for another audience', { aud: 'orders-service' }, 'jwt audience invalid. expected: pets-service'],
    ['of another issuer', { iss: 'pets-service' }, unknownKey],
    ['without a subject', { sub: undefined }, badClaims],
    ['with a subject of 256 characters', { sub: 'x'.repeat(256) }, badClaims],
    [
      'of the gateway that is valid for more than an hour, and a minute for clocks that differ',
      { exp: (claims.iat ?? 0) + 3661 },
      'expires in 3661 s; a token of this issuer may be valid for 3600 s',
    ],
    [
      'of the ops command that is valid for more than a day',
      { iss: 'ops', exp: (claims.iat ?? 0) + 86_461 },
      'expires in 86461 s; a token of this issuer may be valid for 86400 s',
    ],
    ['that never expires', { exp: undefined }, badClaims],
    ['that is not valid yet', { nbf: Math.floor(Date.now() / 1000) + 60 }, 'jwt not active'],
  ])('%s', (_name, changes, reason) => {
    const verifyAtOnce = createVerify([current.publicKey], () => (claims.iat ?? 0) * 1000);
    // The token is accepted without the change.
    expect(verifyAtOnce(signedWith({}))).toEqual(genuine);
    expect(verifyAtOnce(signedWith(changes))).toBe(reason);
  });

  test.each([
    ['none', ''],
    ['None', ''],
    ['none', token.split('.')[2]],
  ])('with the algorithm %s and the signature %j', (alg, signature) => {
    const refusal = signature === '' ? 'jwt signature is required' : 'invalid algorithm';
    expect(verify(`${encode({ ...header, alg })}.${encode(claims)}.${signature}`)).toBe(refusal);
  });

  test('signed with an unknown key, or with claims changed after signing', () => {
    const [head = '', , signature = ''] = token.split('.');
    expect(verify(createIssueToken(other.privateKey)())).toBe(unknownKey);
    expect(verify(`${head}.${encode({ ...claims, sub: 'cus_2' })}.${signature}`)).toBe(unknownKey);
  });

  test.each([
    ['empty', '', 'not a JSON Web Token'],
    ['three parts of nonsense', 'a.b.c', 'not a JSON Web Token'],
    ['a token whose claims are not JSON', `${encode(header)}.bm8ganNvbg.c2ln`, 'not a JSON Web Token'],
  ])('that is %s', (_name, malformed, reason) => {
    expect(verify(malformed)).toBe(reason);
  });
});

test('a token expires by the clock of the pets service, with a tolerance of 5 s', () => {
  let nowMs = expiresAtMs - 1;
  const verify = createVerify([current.publicKey], () => nowMs);
  expect(verify(token)).toEqual(genuine);
  nowMs = expiresAtMs + 4999;
  expect(verify(token)).toEqual(genuine);
  nowMs = expiresAtMs + 5000;
  expect(verify(token)).toBe('jwt expired');
});

describe('the gateway', () => {
  const startMs = Date.now();
  const minuteMs = 60_000;
  const issuedAtMs = (token: string) => (jwt.decode(token, { json: true })?.iat ?? 0) * 1000;

  function issueTwice(afterMs: number): string[] {
    let nowMs = startMs;
    const issueToken = createIssueToken(current.privateKey, () => nowMs);
    const first = issueToken();
    nowMs += afterMs;
    return [first, issueToken()];
  }

  test('reuses a token until a minute before it expires', () => {
    const [first, second] = issueTwice(4 * minuteMs - 1);
    expect(second).toBe(first);
  });

  test.each([
    ['a minute before the old one expires', 4 * minuteMs],
    ['after the clock jumped forward, as when the machine slept', 3 * 60 * minuteMs],
    ['after the clock was set back, since the old one would be from the future', -2 * minuteMs],
  ])('issues a new token %s', (_name, jumpMs) => {
    const [, second = ''] = issueTwice(jumpMs);
    const nowMs = startMs + jumpMs;
    expect(issuedAtMs(second)).toBe(Math.floor(nowMs / 1000) * 1000);
    expect(createVerify([current.publicKey], () => nowMs)(second)).toEqual({
      issuer: 'gateway',
      subject: 'cus_1',
    });
  });
});

test('while keys are being rotated, tokens of both are valid, in any order of configuration', () => {
  const otherToken = createIssueToken(other.privateKey)();
  const keys = [current.publicKey, other.publicKey];
  for (const verify of [createVerify(keys), createVerify(keys.toReversed())])
    expect([verify(token), verify(otherToken)]).toEqual([genuine, genuine]);
});

describe('a token that an internal service signs with its own key', () => {
  const billing = generateKeys();
  const billingNext = generateKeys();
  const reports = generateKeys();
  const verifyCallers = createVerify([current.publicKey], Date.now, {
    billing: [billing.publicKey, billingNext.publicKey],
    reports: [reports.publicKey],
  });

  const now = Math.floor(Date.now() / 1000);
  const ofBilling = {
    iss: 'billing',
    sub: 'invoices',
    iat: now,
    exp: now + 300,
    key: undefined,
    plan: undefined,
  };
  const sign = (changes: Record<string, unknown> = {}, key = billing.privateKey, kid = 'billing-2026') =>
    signedWith({ ...ofBilling, ...changes }, key, kid);

  const fromBilling = { issuer: 'billing', subject: 'invoices' };

  test('is valid with each of the keys of its name, whatever id it gives the key', () => {
    expect(verifyCallers(sign())).toEqual(fromBilling);
    expect(verifyCallers(sign({}, billing.privateKey, ''))).toEqual(fromBilling);
    expect(verifyCallers(sign({}, billingNext.privateKey))).toEqual(fromBilling);
  });

  test.each(['reports', 'gateway', 'ops', 'nobody', '', undefined])(
    'is refused if it says that it is from %s',
    (iss) => {
      expect(verifyCallers(sign({ iss }))).toMatch(/^signed with a key/);
    },
  );

  test("is refused with another service's key, and the gateway's key signs for no service", () => {
    expect(verifyCallers(sign({}, reports.privateKey))).toMatch(/^signed with a key/);
    expect(verifyCallers(signedWith({ iss: 'billing' }))).toMatch(/^signed with a key/);
  });

  test('may be valid for an hour and no longer', () => {
    expect(verifyCallers(sign({ exp: now + 3600 }))).toEqual(fromBilling);
    expect(verifyCallers(sign({ exp: now + 7200 }))).toMatch(/may be valid for 3600 s$/);
    expect(verifyCallers(sign({ iat: now + 86_400, exp: now + 86_700 }))).toMatch(/may be valid for 3600 s$/);
  });
});
