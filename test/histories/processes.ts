import { freePort } from '../support/http/free-port.ts';
import { startGateway, type Service } from '../support/kits/service.ts';
import { respondWithPets, startUpstream, type Upstream } from '../support/upstreams/upstream.ts';
import type { Life, Outage } from './history.ts';

/** So short that clients see the faults of an upstream. */
const upstreamTimeoutMs = 1500;

/** A gateway on a fixed port, which can end and be started again. */
export interface GatewayProcess extends AsyncDisposable {
  url: string;
  start(): Promise<void>;
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Address of the admin port of the present process. */
  adminUrl(): string;
  lives(): Life[];
  outages(): Outage[];
}

/** @param directory another copy of the sources */
export async function createGatewayProcess(
  gateway: number,
  env: Record<string, string>,
  directory?: string,
): Promise<GatewayProcess> {
  const port = await freePort();
  const runs: { service: Service; life: Life }[] = [];
  const present = () => {
    const run = runs.at(-1);
    if (run === undefined) throw new Error('the gateway was not started');
    return run;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    async start() {
      const life: Life = { gateway, startMs: Date.now(), endMs: Infinity, killed: false };
      const own = { GATEWAY_PORT: String(port), UPSTREAM_TIMEOUT_MS: String(upstreamTimeoutMs) };
      const { NODE_COMPILE_CACHE } = process.env;
      const compiled = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };
      const service = await startGateway({ ...own, ...compiled, LOG_LEVEL: 'warn', ...env }, { directory });
      runs.push({ service, life });
      void service.exited.then(() => {
        life.endMs = Date.now() + 1;
      });
    },
    async end(signal) {
      const { service, life } = present();
      if (signal === 'SIGKILL') life.killed = true;
      service.signal(signal);
      await service.exited;
    },
    signal: (signal) => present().service.signal(signal),
    adminUrl: () => present().service.adminUrl,
    lives: () => runs.map(({ life }) => life),
    outages: () => runs.flatMap(({ service, life }) => outagesIn(service.output(), life)),
    async [Symbol.asyncDispose]() {
      for (const { service } of runs) await service[Symbol.asyncDispose]();
    },
  };
}

/** The times in which a gateway says that it does not use Redis. */
export function outagesIn(log: string, { gateway, endMs }: Life): Outage[] {
  const outages: Outage[] = [];
  for (const line of log.split('\n')) {
    const [, time = ''] = /"time":"?([^",]+)/.exec(line) ?? [];
    const ms = /^\d+$/.test(time) ? Number(time) : Date.parse(time);
    const last = outages.at(-1);
    if (line.includes('Redis is unavailable; known keys')) outages.push({ gateway, startMs: ms, endMs });
    else if (line.includes('Redis is available again') && last !== undefined) last.endMs = ms + 1;
  }
  return outages;
}

/** A stand-in for the pets service that can be paused and killed, and counts what it gets. */
export interface UpstreamProcess extends AsyncDisposable {
  url: string;
  /** Receives requests, and responds when it goes on. @returns a function that lets it go on */
  pause(): () => void;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Ids of the requests that it has received since they were taken last, in order. */
  takeForwarded(): string[];
}

export async function createUpstreamProcess(): Promise<UpstreamProcess> {
  let present = await startUpstream();
  const { url } = present;
  const runs: Upstream[] = [present];
  return {
    url,
    pause() {
      const { promise, resolve } = Promise.withResolvers<void>();
      const paused = present;
      const { readiness, response } = paused;
      paused.readiness = (res) => void promise.then(() => readiness(res));
      paused.response = (req, res) => void promise.then(() => respondWithPets(req, res));
      return () => {
        Object.assign(paused, { readiness, response });
        resolve();
      };
    },
    async kill() {
      await present[Symbol.asyncDispose]();
    },
    async start() {
      present = await startUpstream(Number(new URL(url).port));
      runs.push(present);
    },
    takeForwarded: () =>
      runs.flatMap(({ seen }) => seen.splice(0).map(({ headers }) => String(headers['x-request-id']))),
    [Symbol.asyncDispose]: () => present[Symbol.asyncDispose](),
  };
}
