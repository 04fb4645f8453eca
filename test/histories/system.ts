import { setTimeout as sleep } from 'node:timers/promises';
import { send } from '../support/http/http.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisRelay } from '../support/stores/redis-relay.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { startSlowRelay } from '../support/upstreams/slow-relay.ts';
import { overlaps, type Fault, type History } from './history.ts';
import { createGatewayProcess, createUpstreamProcess, type GatewayProcess } from './processes.ts';
import { targetOf, type FaultKind, type PlannedFault } from './schedule.ts';

/** Begins a fault. @returns a function that ends it */
export type Disturb = (gateway: number) => (() => unknown) | Promise<() => unknown>;

/** Gateways that can be disturbed. Schedules may run on them one after the other, each with customers of its own. */
export interface System extends AsyncDisposable {
  gateways: readonly GatewayProcess[];
  /** Address of Redis that no fault of a link concerns. An embedded one gets another at each start of its gateway. */
  redisUrl(): string | undefined;
  faults: Partial<Record<FaultKind, Disturb>>;
  /** Takes what the upstream has received since it was taken last. */
  takeForwarded(): string[] | undefined;
}

/** What a gateway's process can suffer. */
export function gatewayFaults(gateways: readonly GatewayProcess[]): System['faults'] {
  const processOf = (gateway: number) => {
    const process = gateways[gateway];
    if (process === undefined) throw new Error(`no gateway ${gateway}`);
    return process;
  };
  const ended = (signal: 'SIGKILL' | 'SIGTERM') => async (gateway: number) => {
    await processOf(gateway).end(signal);
    return () => processOf(gateway).start();
  };
  return {
    'pause gateway': (gateway) => {
      processOf(gateway).signal('SIGSTOP');
      return () => processOf(gateway).signal('SIGCONT');
    },
    'kill gateway': ended('SIGKILL'),
    'restart gateway': ended('SIGTERM'),
  };
}

/** Nobody listens there. A free port may become that of another shard's Redis, which knows none of the keys. */
const deadPort = 1;

/** Starts gateways on one Redis, each behind a relay of its own. @param directory another copy of the sources */
export async function startSystem(count: number, directory?: string): Promise<System> {
  await using stack = new AsyncDisposableStack();
  const redis = stack.use(await startRedisServer());
  const upstream = stack.use(await createUpstreamProcess());
  const links = await Promise.all(
    Array.from({ length: count }, async () => {
      const slow = stack.use(await startSlowRelay(redis.port));
      return { slow, relay: stack.use(await startRedisRelay(slow.port)) };
    }),
  );
  const gateways = await Promise.all(
    links.map(async ({ relay }, gateway) => {
      const { path } = stack.use(await temporaryDirectory());
      const env = { REDIS_URL: relay.url, PETS_SERVICE_URL: upstream.url, DATA_DIR: path };
      return stack.use(await createGatewayProcess(gateway, env, directory));
    }),
  );
  await Promise.all(gateways.map((gateway) => gateway.start()));
  const linkOf = (gateway: number) => {
    const link = links[gateway];
    if (link === undefined) throw new Error(`no gateway ${gateway}`);
    return link;
  };
  const disposables = stack.move();
  return {
    gateways,
    redisUrl: () => redis.url,
    takeForwarded: () => upstream.takeForwarded(),
    faults: {
      ...gatewayFaults(gateways),
      'pause redis': () => {
        redis.signal('SIGSTOP');
        return () => redis.signal('SIGCONT');
      },
      'restart redis': async () => {
        await redis.kill();
        return () => redis.restart();
      },
      'cut link': (gateway) => {
        const { relay, slow } = linkOf(gateway);
        relay.switchTo(deadPort);
        return () => relay.switchTo(slow.port);
      },
      'delay link': (gateway) => {
        const { slow } = linkOf(gateway);
        slow.delayMs = 300;
        return () => (slow.delayMs = 0);
      },
      'lose reply': (gateway) => {
        linkOf(gateway).relay.loseReplyTo('evalsha');
        return () => {};
      },
      'pause upstream': () => upstream.pause(),
      'kill upstream': async () => {
        await upstream.kill();
        return () => upstream.start();
      },
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  };
}

/** Begins a fault, and ends it after its time. */
export async function disturb({ faults }: System, planned: PlannedFault): Promise<Fault> {
  const { kind, gateway, forMs } = planned;
  const begin = faults[kind];
  if (begin === undefined) throw new Error(`this system has no fault ${kind}`);
  const startMs = Date.now();
  const end = await begin(gateway ?? 0);
  await sleep(forMs);
  await end();
  return { kind, target: targetOf(kind), gateway, startMs, endMs: Date.now() + 1 };
}

const normalMs = 20_000;

/** Resolves when all gateways use Redis and the upstream, or after a time in which they should. */
export async function waitUntilNormal({ gateways }: System): Promise<void> {
  const isNormal = async (gateway: GatewayProcess) => {
    const { json } = await send(`${gateway.adminUrl()}/readyz`);
    const { redis, upstreams } = json as { redis: string; upstreams: Record<string, string> };
    return redis === 'ok' && Object.values(upstreams).every((state) => state === 'ready');
  };
  const deadlineMs = Date.now() + normalMs;
  while (Date.now() < deadlineMs) {
    const normal = await Promise.all(gateways.map((gateway) => isNormal(gateway).catch(() => false)));
    if (normal.every(Boolean)) return;
    await sleep(100);
  }
}

/** Time for which the others count a process that has ended. */
const countedMs = 10_000;

/** What the processes tell of a run that has just ended. */
export function observedIn(
  gateways: readonly Pick<GatewayProcess, 'lives' | 'outages'>[],
  startMs: number,
): Pick<History, 'lives' | 'outages'> {
  const run = { startMs, endMs: Date.now() };
  return {
    lives: gateways.flatMap((gateway) => gateway.lives()).filter(({ endMs }) => endMs >= startMs - countedMs),
    outages: gateways
      .flatMap((gateway) => gateway.outages())
      .map((outage) => Object.assign(outage, { endMs: Math.min(outage.endMs, run.endMs) }))
      .filter((outage) => overlaps(outage, run)),
  };
}
