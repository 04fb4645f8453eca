import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { dayMs } from '../limits/windows.ts';
import { redisKeys } from '../platform/redis/redis-keys.ts';
import { parseJson } from '../platform/redis/redis-values.ts';
import type { Session } from './session.ts';

/** A request that is to be executed once, however often it is sent. */
export interface IdempotentRequest {
  /** Chosen by the caller, for all requests of its own. */
  key: string;
  /** Secret of the caller. */
  secret: string;
  /** What has to be the same when the key is used again. */
  content: string;
  /** Whether an error says that nothing was changed, so that the key may be used again. */
  isRefusal: (error: unknown) => boolean;
}

const keptMs = dayMs;

const storedSchema = z.object({ fingerprint: z.string(), response: z.string().optional() });

/**
 * Runs what makes a response, or returns that of the first request with the same key, for a day. A response may contain an API
 * key, so it is encrypted with a key that is derived from the caller's secret, which Redis does not have.
 *
 * A request whose outcome is unknown, since its gateway was killed or Redis was lost meanwhile, is not executed again: its key
 * stays in use.
 * @param run makes the response as JSON
 */
export async function runOnce(
  { redis }: Pick<Session, 'redis'>,
  { key, secret, content, isRefusal }: IdempotentRequest,
  run: () => Promise<string>,
): Promise<{ outcome: 'done'; json: string; replayed: boolean } | { outcome: 'in_use' | 'reused' }> {
  const derive = (use: string) => Buffer.from(hkdfSync('sha256', secret, key, `idempotency ${use}`, 32));
  const place = redisKeys.idempotency(derive('id').toString('hex'));
  const cipherKey = derive('response');
  const fingerprint = createHmac('sha256', derive('request')).update(content).digest('base64url');
  const begun = await redis.set(place, JSON.stringify({ fingerprint }), 'PX', keptMs, 'NX');
  if (begun === null) {
    const text = await redis.get(place);
    const stored = storedSchema.safeParse(parseJson(text ?? '')).data;
    if (stored !== undefined && stored.fingerprint !== fingerprint) return { outcome: 'reused' };
    const json = stored?.response === undefined ? undefined : decrypt(stored.response, cipherKey);
    return json === undefined ? { outcome: 'in_use' } : { outcome: 'done', json, replayed: true };
  }
  try {
    const json = await run();
    const response = encrypt(json, cipherKey);
    // The response is sent in any case: nothing else has the API key in it.
    await redis.set(place, JSON.stringify({ fingerprint, response }), 'PX', keptMs).catch(() => {});
    return { outcome: 'done', json, replayed: false };
  } catch (error) {
    if (isRefusal(error)) await redis.del(place).catch(() => {});
    throw error;
  }
}

const algorithm = 'aes-256-gcm';
const [ivBytes, tagBytes] = [12, 16];

function encrypt(text: string, key: Buffer): string {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv(algorithm, key, iv);
  const encrypted = [cipher.update(text, 'utf8'), cipher.final()];
  return Buffer.concat([iv, cipher.getAuthTag(), ...encrypted]).toString('base64url');
}

/** @returns undefined for a text that was edited by hand */
function decrypt(text: string, key: Buffer): string | undefined {
  const sealed = Buffer.from(text, 'base64url');
  const end = ivBytes + tagBytes;
  try {
    const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes), {
      authTagLength: tagBytes,
    });
    decipher.setAuthTag(sealed.subarray(ivBytes, end));
    return Buffer.concat([decipher.update(sealed.subarray(end)), decipher.final()]).toString();
  } catch {
    return undefined;
  }
}
