import { isUtf8 } from 'node:buffer';
import { parseIdempotencyKey } from '#runtime/idempotency-key.ts';
import express, { Router, type RequestHandler } from 'express';
import type { PetStore } from '../database/pet-store.ts';
import { PetsError } from '../errors.ts';
import { sendJson } from '../http/send-json.ts';
import { tokenCallerOf } from '../internal-token.ts';
import { int64Reviver } from './int64.ts';
import { findJsonExcess } from './json-size.ts';
import { formatCursor, parseNewPet, parsePetId, parsePetsQuery } from './pet-input.ts';
import { petJson } from './pet.ts';

const maxBodyBytes = 1024 * 1024;

/** Types, like body-parser's own, of the errors for a body that is not UTF-8 or has too many values or levels. */
export const invalidUtf8 = 'entity.utf8.invalid';
export const tooManyValues = 'entity.values.invalid';
export const tooDeep = 'entity.depth.invalid';

/** Specification section 4.3: removed on 5 December 2030; five years' notice. */
const getPetDeprecatedAt = Date.UTC(2025, 11, 5);
const getPetRemovedAt = Date.UTC(2030, 11, 5);

/** Headers of RFC 9745, RFC 8594 and, for the links, RFC 5829 and RFC 9745. The gateway serves /docs. */
const getPetHeaders = Object.entries({
  Deprecation: `@${getPetDeprecatedAt / 1000}`,
  Sunset: new Date(getPetRemovedAt).toUTCString(),
  Link: '</v1/pets>; rel="successor-version", </docs#versions-and-deprecations>; rel="deprecation"; type="text/html"',
});

interface PetRoutesDependencies {
  store: PetStore;
  now: () => number;
}

/** The operations of the specification, section 4: translates HTTP to the domain and back. */
export function petRoutes({ store, now }: PetRoutesDependencies): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router
    .route('/v1/pets')
    .get(listPets(store))
    .post(requireJson(), sendContinue(), parseJson(), createPet(store, now))
    .options(answerOptions('GET, HEAD, POST, OPTIONS'))
    .all(rejectMethod('GET, HEAD, POST, OPTIONS'));
  router
    // A named parameter would be decoded, and pet 1 would have the second address %31.
    .route(/^\/v1\/pets\/[^/]+$/)
    .get(getPet(store, now))
    .options(answerOptions('GET, HEAD, OPTIONS'))
    .all(rejectMethod('GET, HEAD, OPTIONS'));
  return router;
}

function listPets(store: PetStore): RequestHandler {
  return async function listPets(req, res) {
    const query = parsePetsQuery(req.query);
    const { pets, more } = await store.list(query);
    const last = pets.at(-1);
    if (more && last !== undefined) {
      // No part needs to be escaped.
      const status = query.status === undefined ? '' : `&status=${query.status}`;
      const next = `/v1/pets?limit=${query.limit}${status}&cursor=${formatCursor(last.id)}`;
      res.setHeader('Link', `<${next}>; rel="next"`);
    }
    sendJson(res, JSON.stringify(pets.map(petJson)));
  };
}

function createPet(store: PetStore, now: () => number): RequestHandler {
  return async function createPet(req, res) {
    const key = parseIdempotencyKey(req, (message) => new PetsError('invalid_request', { message }));
    const newPet = parseNewPet(req.body);
    const { pet, replayed } =
      key === undefined
        ? { pet: await store.create(newPet), replayed: false }
        : await store.createOnce(newPet, { ...tokenCallerOf(res.locals), key });
    res.statusCode = 201;
    // As Stripe's API does, so that a client can tell a retry from a second pet.
    if (replayed) res.setHeader('Idempotency-Replayed', 'true');
    // From then on the address of a single pet is 410.
    if (now() < getPetRemovedAt) res.setHeader('Location', `/v1/pets/${pet.id}`);
    sendJson(res, JSON.stringify(petJson(pet)));
  };
}

function getPet(store: PetStore, now: () => number): RequestHandler {
  return async function getPet(req, res) {
    for (const [name, value] of getPetHeaders) res.setHeader(name, value);
    if (now() >= getPetRemovedAt) throw new PetsError('endpoint_removed');
    const pet = await store.find(parsePetId(req.path.slice('/v1/pets/'.length)));
    if (pet === undefined) throw new PetsError('pet_not_found');
    sendJson(res, JSON.stringify(petJson(pet)));
  };
}

function requireJson(): RequestHandler {
  return function requireJson(req, _res, next) {
    const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = req.headers;
    const [mediaType = '', ...parameters] = type
      .toLowerCase()
      .split(';')
      .map((part) => part.trim());
    const charset = parameters.find((parameter) => /^charset\s*=/.test(parameter)) ?? 'charset=utf-8';
    const isUtf8Json = mediaType === 'application/json' && /^charset\s*=\s*"?utf-8"?$/.test(charset);
    if (!isUtf8Json || encoding.toLowerCase() !== 'identity') throw new PetsError('unsupported_media_type');
    // body-parser would parse the header again, with rules of its own.
    req.headers['content-type'] = 'application/json';
    next();
  };
}

/** Invites the body of a caller that waits for it (RFC 9110 section 10.1.1). */
function sendContinue(): RequestHandler {
  return function sendContinue(req, res, next) {
    if (req.httpVersion === '1.1' && req.headers.expect?.toLowerCase() === '100-continue')
      res.writeContinue();
    next();
  };
}

/** Parses the body as JSON with exact integers. An absent body stays undefined. */
function parseJson(): RequestHandler {
  return express.json({
    limit: maxBodyBytes,
    strict: false,
    inflate: false,
    reviver: int64Reviver,
    verify(_req, _res, body) {
      // Decoding would store replacement characters for invalid bytes. body-parser adds fields to what is thrown here, so
      // error-handler.ts translates it.
      if (!isUtf8(body)) throw Object.assign(new Error('not UTF-8'), { type: invalidUtf8 });
      const excess = findJsonExcess(body);
      if (excess === undefined) return;
      throw Object.assign(new Error(`too many ${excess}`), {
        type: excess === 'depth' ? tooDeep : tooManyValues,
      });
    },
  });
}

function answerOptions(allow: string): RequestHandler {
  return function answerOptions(_req, res) {
    res.set('Allow', allow).status(204).end();
  };
}

function rejectMethod(allow: string): RequestHandler {
  return function rejectMethod() {
    throw new PetsError('method_not_allowed', { headers: { Allow: allow } });
  };
}
