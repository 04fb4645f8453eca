import { hash } from 'node:crypto';
import httpProxy from '@fastify/http-proxy';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { Redis } from 'ioredis';

/** Fastify with its own proxy and rate limit, which has a single window. Key records are cached for 10 s. */
const redis = new Redis(process.env['REDIS'] ?? '', { enableAutoPipelining: true });
const cachedRecords = new Map<string, { plan: string; readAtMs: number }>();
const app = fastify();

app.addHook('onRequest', async (request, reply) => {
  const keyHash = hash('sha256', request.headers.authorization?.slice('Bearer '.length) ?? '');
  const record = cachedRecords.get(keyHash);
  if (record !== undefined && Date.now() - record.readAtMs < 10_000) return;
  const customerId = await redis.get(`gw:key-customer:${keyHash}`);
  const plan = await redis.hget(`gw:customer:{${customerId}}`, 'plan');
  if (plan === null) return reply.code(401).send({ code: 'unknown_api_key' });
  cachedRecords.set(keyHash, { plan, readAtMs: Date.now() });
});
await app.register(rateLimit, {
  redis,
  max: 1e9,
  timeWindow: 60_000,
  keyGenerator: (request) => request.headers.authorization ?? '',
});
await app.register(httpProxy, { upstream: process.env['UPSTREAM'] ?? '' });
await app.listen({ port: Number(process.env['PORT']), host: '127.0.0.1' });
