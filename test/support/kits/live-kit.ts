import { expect, vi } from 'vitest';
import type { LiveState } from '../../../gateway/control/status/live-state.ts';
import type { RedisClient } from '../../../gateway/platform/redis/redis-client.ts';
import { signIn } from './console-api-kit.ts';
import type { Service } from './service.ts';

export type LiveConsole = Awaited<ReturnType<typeof openLive>>;

/** The live state of all gateways, as the console of one of them shows it. */
export async function openLive(redis: RedisClient, { adminUrl }: Pick<Service, 'adminUrl'>) {
  const api = await signIn(redis, adminUrl);
  async function read(): Promise<LiveState> {
    const { status, body } = await api.send('GET', '/api/live');
    expect(status).toBe(200);
    return body as LiveState;
  }
  return {
    api,
    read,
    /** Waits until a state passes the check. */
    until: (check: (state: LiveState) => void, timeout = 15_000) =>
      vi.waitFor(async () => check(await read()), { timeout, interval: 200 }),
  };
}

export const problemTitles = ({ problems }: LiveState): string[] => problems.map(({ title }) => title);
