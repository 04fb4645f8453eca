import { hash } from 'node:crypto';
import { Agent } from 'node:http';
import express, { type RequestHandler } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { Redis } from 'ioredis';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';

/** Typical use of rate-limiter-flexible: one Redis limiter per window. Key records are cached for 10 s. */
const redis = new Redis(process.env['REDIS'] ?? '', { enableAutoPipelining: true });
const minuteLimiter = new RateLimiterRedis({ storeClient: redis, keyPrefix: 'm', points: 1e9, duration: 60 });
const dayLimiter = new RateLimiterRedis({
  storeClient: redis,
  keyPrefix: 'd',
  points: 1e9,
  duration: 86_400,
});
const cachedRecords = new Map<string, { plan: string; readAtMs: number }>();

function authenticate(): RequestHandler {
  return async function authenticate(req, res, next) {
    const key = req.headers.authorization?.slice('Bearer '.length) ?? '';
    const keyHash = hash('sha256', key);
    let record = cachedRecords.get(keyHash);
    if (record === undefined || Date.now() - record.readAtMs > 10_000) {
      const customerId = await redis.get(`gw:key-customer:${keyHash}`);
      const plan = await redis.hget(`gw:customer:{${customerId}}`, 'plan');
      if (plan === null) return void res.status(401).json({ code: 'unknown_api_key' });
      record = { plan, readAtMs: Date.now() };
      cachedRecords.set(keyHash, record);
    }
    res.locals['keyHash'] = keyHash;
    next();
  };
}

function limit(): RequestHandler {
  return async function limit(_req, res, next) {
    const keyHash = String(res.locals['keyHash']);
    try {
      const [minuteResult] = await Promise.all([minuteLimiter.consume(keyHash), dayLimiter.consume(keyHash)]);
      res.set('X-RateLimit-Limit', '1000000000');
      res.set('X-RateLimit-Remaining', String(minuteResult.remainingPoints));
      res.set('X-RateLimit-Reset', String(Math.ceil((Date.now() + minuteResult.msBeforeNext) / 1000)));
      next();
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      res.set('Retry-After', String(Math.ceil(error.msBeforeNext / 1000)));
      res.status(429).json({ code: 'rate_limit_exceeded' });
    }
  };
}

const app = express();
app.disable('x-powered-by').disable('etag');
app.use(authenticate());
app.use(limit());
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
app.use(createProxyMiddleware({ target: process.env['UPSTREAM'] ?? '', agent }));
app.listen(Number(process.env['PORT']), '127.0.0.1');
