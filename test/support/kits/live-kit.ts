import { expect } from 'vitest';
import { makeConsoleCode } from '../../../gateway/control/access/console-sessions.ts';
import type { LiveState } from '../../../gateway/control/status/live-state.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { signInWith, type ConsoleApi } from './console-kit.ts';
import { sessionOf } from './keys.ts';
import type { Service } from './service.ts';

/** Signs in to the console of a gateway, without a browser. */
export async function signIn(
  redis: RedisClient,
  { adminUrl }: Pick<Service, 'adminUrl'>,
): Promise<ConsoleApi> {
  const { code } = await makeConsoleCode(sessionOf(redis), { name: 'Ada', role: 'operator' });
  return signInWith(adminUrl, code);
}

export type LiveConsole = Awaited<ReturnType<typeof openLive>>;

/** The live state of all gateways, as the console of one of them shows it. */
export async function openLive(redis: RedisClient, gateway: Pick<Service, 'adminUrl'>) {
  const api = await signIn(redis, gateway);
  async function read(): Promise<LiveState> {
    const { status, body } = await api.send('GET', '/api/live');
    expect(status).toBe(200);
    return body as LiveState;
  }
  return {
    api,
    read,
    /** Waits until a state passes the check. */
    async until(check: (state: LiveState) => void, timeout = 15_000) {
      await expect
        .poll(
          async () => {
            check(await read());
            return true;
          },
          { timeout, interval: 200 },
        )
        .toBe(true);
    },
  };
}

export const problemTitles = ({ problems }: LiveState): string[] => problems.map(({ title }) => title);
