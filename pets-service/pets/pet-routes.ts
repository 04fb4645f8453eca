import express, { Router, type RequestHandler } from 'express';
import type { PetStore } from '../database/pet-store.ts';
import { PetsError } from '../errors.ts';
import {
  formatCursor,
  int64Reviver,
  parseIdempotencyKey,
  parseNewPet,
  parsePetId,
  parsePetsQuery,
  petJson,
  verifyJson,
} from './pet.ts';

const readBody = express.json({
  type: () => true,
  inflate: false,
  strict: false,
  limit: 1024 * 1024,
  verify: verifyJson,
  reviver: int64Reviver,
});

/** Specification section 4.3: removed on 5 December 2030; five years' notice. */
const getPetRemovedAt = Date.UTC(2030, 11, 5);

/** Headers of RFC 9745, RFC 8594 and, for the links, RFC 5829 and RFC 9745. The gateway serves /docs. */
const getPetHeaders = {
  Deprecation: `@${Date.UTC(2025, 11, 5) / 1000}`,
  Sunset: new Date(getPetRemovedAt).toUTCString(),
  Link: '</v1/pets>; rel="successor-version", </docs#versions-and-deprecations>; rel="deprecation"; type="text/html"',
};

/** The operations of the specification, section 4: translates HTTP to the domain and back. */
export function petRoutes(store: PetStore, now: () => number): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router
    .route('/v1/pets')
    .get(listPets(store))
    .post(requireJson(), readBody, createPet(store, now))
    .all(answerMethods('GET, HEAD, POST, OPTIONS'));
  router
    // A named parameter would be decoded, and pet 1 would have the second address %31.
    .route(/^\/v1\/pets\/[^/]+$/)
    .get(getPet(store, now))
    .all(answerMethods('GET, HEAD, OPTIONS'));
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
    res.json(pets.map(petJson));
  };
}

function createPet(store: PetStore, now: () => number): RequestHandler {
  return async function createPet(req, res) {
    const { tokenCaller } = res.locals;
    if (tokenCaller === undefined) throw new PetsError('unauthorized');
    const key = parseIdempotencyKey(req.headersDistinct['idempotency-key']);
    const newPet = parseNewPet(req.body);
    const { pet, replayed } =
      key === undefined
        ? { pet: await store.create(newPet), replayed: false }
        : await store.createOnce(newPet, { ...tokenCaller, key });
    res.status(201);
    // As Stripe's API does, so that a client can tell a retry from a second pet.
    if (replayed) res.setHeader('Idempotency-Replayed', 'true');
    // From then on the address of a single pet is 410.
    if (now() < getPetRemovedAt) res.setHeader('Location', `/v1/pets/${pet.id}`);
    res.json(petJson(pet));
  };
}

function getPet(store: PetStore, now: () => number): RequestHandler {
  return async function getPet(req, res) {
    res.set(getPetHeaders);
    if (now() >= getPetRemovedAt) throw new PetsError('endpoint_removed');
    const pet = await store.find(parsePetId(req.path.slice('/v1/pets/'.length)));
    if (pet === null) throw new PetsError('pet_not_found');
    res.json(petJson(pet));
  };
}

function requireJson(): RequestHandler {
  return function requireJson(req, _res, next) {
    if (!req.is('application/json')) throw new PetsError('unsupported_media_type');
    next();
  };
}

function answerMethods(allow: string): RequestHandler {
  return function answerMethods(req, res) {
    if (req.method !== 'OPTIONS') throw new PetsError('method_not_allowed', { headers: { Allow: allow } });
    res.set('Allow', allow).status(204).end();
  };
}
