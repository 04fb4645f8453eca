import { pino } from 'pino';
import { onConnectionFailure } from './connection-causes.ts';
import { createRedis } from './redis-client.ts';

const timeoutMs = 1000;
const refusals = /WRONGPASS|NOAUTH|NOPERM/;

/**
 * Tries the user and the password of a URL on a connection of its own.
 * @returns why Redis refuses them; undefined if it accepts them, or cannot be reached
 */
export async function findRefusedLogin(url: string): Promise<string | undefined> {
  const redis = createRedis(url, pino({ level: 'silent' }));
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeoutMs);
      redis.once('ready', () => resolve(undefined));
      onConnectionFailure(redis, (cause) => {
        if (refusals.test(cause)) resolve(cause);
      });
    });
  } finally {
    clearTimeout(timer);
    redis.disconnect();
  }
}
