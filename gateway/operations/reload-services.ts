import { setTimeout as sleep } from 'node:timers/promises';
import { redisKeys } from '../redis/redis-keys.ts';
import { readFleetStatus, type FleetGateway, type FleetStatus } from './fleet-status.ts';
import { OperationFailure } from './invalid-operation.ts';
import type { ChangingSession } from './session.ts';

/** How a gateway has answered a request to read its files again. */
export interface GatewayReload {
  host: string;
  adminAddress: string | null;
  outcome: 'reloaded' | 'refused' | 'no_answer';
  /** Of the services in force; null if it has not said. */
  revision: string | null;
  /** Why it has refused. */
  issues: string[];
}

/** Gateways ask twice a second. One that starts within this time reads its files once more. */
const keptSeconds = 60;
const pollMs = 200;
/** Time for all gateways to answer. */
const answerTimeoutMs = 20_000;

/**
 * Has all gateways read again what files hold, and waits until all that run have answered.
 * @throws OperationFailure if none runs: nothing is changed
 */
export async function reloadServices(session: ChangingSession): Promise<GatewayReload[]> {
  const { redis, audit, now } = session;
  const { gateways, withoutStatus } = await readFleetStatus(session);
  if (withoutStatus.length === 0 && !gateways.some(isLive)) {
    throw new OperationFailure('no gateway runs on this Redis: nothing is reloaded');
  }
  const after = { requestedAt: new Date(now()).toISOString() };
  const request = await audit({ action: 'services.reload', target: redisKeys.reload, before: null, after });
  await redis.set(redisKeys.reload, request, 'EX', keptSeconds);
  const untilMs = performance.now() + answerTimeoutMs;
  for (;;) {
    const reloads = answersOf(await readFleetStatus(session), request);
    const isComplete = reloads.every(({ outcome }) => outcome !== 'no_answer');
    if (isComplete || performance.now() > untilMs) return reloads;
    await sleep(pollMs);
  }
}

const isLive = ({ state }: Pick<FleetGateway, 'state'>) => state !== 'not_seen';

function answersOf({ gateways, withoutStatus }: FleetStatus, request: string): GatewayReload[] {
  return [
    ...gateways.filter(isLive).map((gateway) => answerOf(gateway, request)),
    ...withoutStatus.map(() => ({
      host: 'a process of an older version',
      adminAddress: null,
      outcome: 'no_answer' as const,
      revision: null,
      issues: [],
    })),
  ];
}

/** The answer of a gateway is that of all its processes. */
function answerOf({ host, adminAddress, processes }: FleetGateway, request: string): GatewayReload {
  const states = processes
    .filter(({ state }) => state !== 'not_seen')
    .map(({ reload }) => (reload.request === request ? reload : undefined));
  const issues = [...new Set(states.flatMap((state) => state?.issues ?? []))];
  const outcome = states.includes(undefined) ? 'no_answer' : issues.length > 0 ? 'refused' : 'reloaded';
  const revision = states[0]?.revision ?? null;
  return { host, adminAddress: adminAddress ?? null, outcome, revision, issues };
}
