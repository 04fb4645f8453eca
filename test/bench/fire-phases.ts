import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { maxLimit } from '../../gateway/limits/limits.ts';
import { setPlan } from '../../gateway/operations/plans.ts';
import type { ChangingSession } from '../../gateway/operations/session.ts';
import { freePort } from '../support/http/free-port.ts';
import { send } from '../support/http/http.ts';
import { connectRedis, keyIssuer } from '../support/kits/keys.ts';
import { signIn } from '../support/kits/live-kit.ts';
import { enterPortal } from '../support/kits/portal-kit.ts';
import { startRedisSentinels } from '../support/stores/redis-sentinel.ts';
import { checkIntervalMs, makeCertificate, startBalancer } from './balancer.ts';
import type { Fixture } from './fixture.ts';
import { addKnownKeys } from './known-keys.ts';
import type { OpenLoad } from './load.ts';
import type { PinnedProcess } from './pinned-process.ts';

/** What a phase works with. */
export interface Ground {
  fixture: Fixture;
  session: ChangingSession;
  /** Ends with the phase. */
  stack: AsyncDisposableStack;
  keys: number;
  portals: number;
  /** Starts the contender. */
  start(env?: Record<string, string>, port?: number): Promise<PinnedProcess & { port: number }>;
  /** Resolves when a quarter of the time has passed for which the load counts. */
  begin(): Promise<void>;
  /** Aborted when the load has ended. */
  ended: AbortSignal;
  /** Counts an error beside those of the load. */
  fail(error: string): void;
}

/** What is measured: the calm load, and what is different or happens after it. */
export interface Fire {
  calm: Pick<OpenLoad, 'url'> & Partial<OpenLoad>;
  load?: Partial<OpenLoad>;
  happen?: () => Promise<void>;
}

export interface Phase {
  name: string;
  title: string;
  /** Whether nginx + Lua knows what happens here. */
  withNginx?: true;
  /** Only if it is asked for: its requests fail. */
  isExtra?: true;
  /** The aim of p99 in milliseconds; undefined for twice the calm one. */
  aimMs?: number;
  prepare(ground: Ground): Promise<Fire>;
}

const urlOf = ({ port }: { port: number }) => `http://127.0.0.1:${port}/v1/pets?limit=2`;
const unlimited = { plan: 'enterprise', minute: maxLimit, day: maxLimit };
const portalPaths = ['/customer', '/usage?days=30', '/failures', '/keys'];
/** As the page of the portal has it. */
const portalRefreshMs = 10_000;
const consoleRefreshMs = 2000;
const consoles = 10;

/** Resolves early when the load has ended. */
const pause = (ms: number, ended: AbortSignal) => sleep(ms, undefined, { signal: ended }).catch(() => {});

async function everySecond({ ended }: Ground, step: (turn: number) => Promise<unknown>): Promise<void> {
  for (let turn = 0; !ended.aborted; turn += 1) {
    await step(turn);
    await pause(1000, ended);
  }
}

/** Redis' master ends or hangs, and its Sentinels choose another one. */
const failover =
  (signal: 'SIGKILL' | 'SIGSTOP') =>
  async (ground: Ground): Promise<Fire> => {
    const sentinels = ground.stack.use(await startRedisSentinels());
    const gateway = await ground.start({ REDIS_URL: sentinels.url });
    const redis = await connectRedis(sentinels.url);
    const { key } = await keyIssuer(redis).issue(unlimited);
    redis.disconnect();
    const keys = join(ground.fixture.directory, 'sentinel-key');
    await writeFile(keys, key);
    return {
      calm: { url: urlOf(gateway), keys },
      async happen() {
        await ground.begin();
        const master = await sentinels.master();
        master.signal(signal);
        while ((await sentinels.master()) === master) await sleep(100);
      },
    };
  };

export const phases: readonly Phase[] = [
  {
    name: 'calm',
    title: 'nothing happens',
    withNginx: true,
    prepare: async ({ start }) => ({ calm: { url: urlOf(await start()) } }),
  },
  { name: 'failover', title: "Redis' master is killed", aimMs: 250, prepare: failover('SIGKILL') },
  { name: 'hang', title: "Redis' master hangs", aimMs: 250, prepare: failover('SIGSTOP') },
  {
    name: 'plan',
    title: 'the plan changes every second',
    async prepare(ground) {
      const { session, fixture, start } = ground;
      const change = (minute: number) => setPlan(session, 'business', { minute, day: maxLimit }, false);
      await change(maxLimit);
      const keys = join(fixture.directory, 'business-key');
      await writeFile(keys, (await keyIssuer(session.redis).issue({ plan: 'business' })).key);
      return {
        calm: { url: urlOf(await start()), keys },
        happen: () => everySecond(ground, (turn) => change(maxLimit - 1 - (turn % 2))),
      };
    },
  },
  {
    name: 'replace',
    title: 'a gateway is replaced by one on the same core, behind HAProxy',
    async prepare(ground) {
      const [before, after] = [
        { port: await freePort(), adminPort: await freePort() },
        { port: await freePort(), adminPort: await freePort() },
      ];
      const start = ({ port, adminPort }: typeof before) =>
        ground.start({ GATEWAY_ADMIN_PORT: String(adminPort), SHUTDOWN_DELAY_MS: '2000' }, port);
      const old = await start(before);
      const port = await startBalancer(ground.fixture.directory, ground.stack, [before, after]);
      return {
        calm: { url: urlOf({ port }) },
        async happen() {
          await ground.begin();
          await start(after);
          while ((await send(`http://127.0.0.1:${after.adminPort}/readyz`)).status !== 200) await sleep(50);
          await sleep(3 * checkIntervalMs);
          await old.stop();
        },
      };
    },
  },
  {
    name: 'keys',
    title: 'many keys are in use, evenly',
    withNginx: true,
    async prepare({ fixture, session, keys: count, start }) {
      const keys = join(fixture.directory, 'many-keys');
      await addKnownKeys(session.redis, count, keys);
      return { calm: { url: urlOf(await start()) }, load: { keys } };
    },
  },
  {
    name: 'watched',
    title: 'ten consoles and many portals are open',
    async prepare(ground) {
      const { session, portals, fail, ended } = ground;
      const adminUrl = `http://127.0.0.1:${await freePort()}`;
      const gateway = await ground.start({ GATEWAY_ADMIN_PORT: new URL(adminUrl).port });
      const console = await signIn(session.redis, { adminUrl });
      const issuer = keyIssuer(session.redis);
      const customers = await Array.fromAsync({ length: portals }, async () => {
        const { customerId } = await issuer.issue(unlimited);
        return enterPortal(`http://127.0.0.1:${gateway.port}`, session.redis, customerId);
      });
      const watch = async (customer: (typeof customers)[number], index: number) => {
        await pause((index / portals) * portalRefreshMs, ended);
        while (!ended.aborted) {
          const responses = await Promise.all(portalPaths.map((path) => customer.send('GET', path)));
          for (const { status } of responses) if (status !== 200) fail(`portal ${status}`);
          await pause(portalRefreshMs, ended);
        }
      };
      const watchLive = async () => {
        while (!ended.aborted) {
          const { status } = await console.send('GET', '/api/live');
          if (status !== 200) fail(`console ${status}`);
          await pause(consoleRefreshMs, ended);
        }
      };
      return {
        calm: { url: urlOf(gateway) },
        async happen() {
          await Promise.all([...Array.from({ length: consoles }, watchLive), ...customers.map(watch)]);
        },
      };
    },
  },
  {
    name: 'connections',
    title: 'connections close after ten requests',
    withNginx: true,
    prepare: async ({ start }) => ({
      calm: { url: urlOf(await start()) },
      load: { requestsPerConnection: 10 },
    }),
  },
  {
    name: 'tls',
    title: 'HAProxy ends TLS in front',
    withNginx: true,
    async prepare({ start, stack, fixture: { directory } }) {
      const contender = await start();
      const certificate = await makeCertificate(directory);
      const port = await startBalancer(directory, stack, [{ port: contender.port }], certificate);
      return {
        calm: { url: urlOf(contender) },
        load: { url: urlOf({ port }).replace('http', 'https'), certificate },
      };
    },
  },
  {
    name: 'no-upstream',
    title: 'the only upstream is stopped',
    isExtra: true,
    prepare: async ({ start, begin, fixture }) => ({
      calm: { url: urlOf(await start()) },
      async happen() {
        await begin();
        await fixture.upstream.stop();
      },
    }),
  },
];
