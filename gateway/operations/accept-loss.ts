import { redisKeys } from '../redis/redis-keys.ts';
import type { ChangingSession } from './session.ts';

/** Says that API keys which Redis has lost are meant to be gone: gateways that served them refuse them as unknown. */
export async function acceptLoss({ redis, audit, now }: ChangingSession): Promise<{ acceptedAt: string }> {
  const atMs = now();
  const after = { acceptedAt: new Date(atMs).toISOString() };
  await audit({ action: 'keys.accept-loss', target: redisKeys.lossAccepted, before: null, after });
  await redis.set(redisKeys.lossAccepted, atMs);
  return after;
}
