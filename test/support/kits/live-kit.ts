import { expect } from 'vitest';
import type { LiveState } from '../../../gateway/admin/live/live-state.ts';
import { makeConsoleCode } from '../../../gateway/operations/console-codes.ts';
import { createAuditLog } from '../../../gateway/redis/record-change.ts';
import type { RedisClient } from '../../../gateway/redis/redis-client.ts';
import { openEventStream, type EventStream } from '../http/event-stream.ts';
import { signInWith, type ConsoleApi } from './console-kit.ts';
import type { Service } from './service.ts';

/** Signs in to the console of a gateway, without a browser. */
export async function signIn(
  redis: RedisClient,
  { adminUrl }: Pick<Service, 'adminUrl'>,
): Promise<ConsoleApi> {
  const session = { redis, audit: createAuditLog({ redis, who: 'tests' }), now: () => Date.now() };
  const { code } = await makeConsoleCode(session, { name: 'Ada', role: 'operator' });
  return signInWith(adminUrl, code);
}

/** The live state of all gateways, as the console of one of them shows it. */
export interface LiveConsole extends AsyncDisposable {
  stream: EventStream;
  /** Newest state. */
  state(): LiveState | undefined;
  /** Waits until a state passes the check. */
  until(check: (state: LiveState) => void, timeoutMs?: number): Promise<void>;
}

export async function openLive(redis: RedisClient, gateway: Pick<Service, 'adminUrl'>): Promise<LiveConsole> {
  const { cookie } = await signIn(redis, gateway);
  const stream = await openEventStream(`${gateway.adminUrl}/api/live`, cookie);
  expect(stream.status).toBe(200);
  const state = () => stream.events<LiveState>('state').at(-1);
  return {
    stream,
    state,
    async until(check, timeout = 15_000) {
      await expect
        .poll(
          () => {
            const current = state();
            expect(current).toBeDefined();
            if (current !== undefined) check(current);
            return true;
          },
          { timeout },
        )
        .toBe(true);
    },
    [Symbol.asyncDispose]: () => stream[Symbol.asyncDispose](),
  };
}

/** Requests in all states since the stream began. */
export const countedRequests = (console: LiveConsole): number =>
  console.stream
    .events<LiveState>('state')
    .reduce((sum, { traffic }) => sum + (traffic?.counted.requests ?? 0), 0);

export const problemTitles = ({ problems }: LiveState): string[] => problems.map(({ title }) => title);
