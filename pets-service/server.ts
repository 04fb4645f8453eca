import { migrate } from '../prisma/migrate.ts';
import { createPetsService } from './app.ts';
import { ConfigError, loadConfig, type Config } from './config.ts';
import { createDatabaseHealth } from './database/database-health.ts';
import { openDatabase } from './database/database.ts';
import { deleteExpiredKeys } from './database/delete-expired-keys.ts';
import { addDemoPets } from './database/demo-pets.ts';
import { createPetStore } from './database/pet-store.ts';
import { errorMessage } from './errors.ts';
import { createHttpServer, listen } from './http-server.ts';
import { createVerifyToken } from './internal-token.ts';
import { createLog } from './log.ts';
import { createMetrics } from './metrics.ts';
import { gatewayIssuers, loadTrustedKeys } from './token-keys.ts';
import { startTracing } from './tracing.ts';

/** Maximum time that the start waits for the database before it says that it is ready. */
const databaseTimeoutMs = 1000;

/** Steps that run when the service stops or its start fails, in reverse order. */
const cleanup = new AsyncDisposableStack();
/** Aborted by a second signal: nothing is waited for any longer. */
const forced = new AbortController();
/** Why the service stops. */
let reason: string | undefined;
let stopped: Promise<void> | undefined;

async function start(config: Config, log: Awaited<ReturnType<typeof createLog>>): Promise<number> {
  // The port first: if it is taken, neither keys nor a database are touched. Until `open`, requests get 503.
  const service = createPetsService();
  const { server, drain, isDraining } = createHttpServer(service.app, config.timeouts);
  const port = await listen(server, config.port, config.host);

  const { databaseUrl: url, databasePoolSize: poolSize, dataDirectory, demo } = config;
  const verifyToken = createVerifyToken(loadTrustedKeys(config), Date.now);
  const database = await openDatabase({ url, poolSize, dataDirectory });
  cleanup.defer(() => database.close());
  const text = `database: ${database.description}`;
  // With a forgotten address of the shared database, all pets would seem to be lost.
  if (url === undefined && process.env['NODE_ENV'] === 'production')
    log.warn(`${text}; DATABASE_URL is not set`);
  else log.info(text);
  const tracing = config.tracing && (await startTracing({ settings: config.tracing, url, log }));
  cleanup.defer(() => tracing?.close());
  const onStatement = (pool: string, seconds: number) => metrics.recordStatement(pool, seconds);
  const store = createPetStore(database, { log, tracing, onStatement });
  cleanup.defer(() => store.close());
  const callers = [...gatewayIssuers, ...config.callerKeyFiles.map(({ name }) => name)];
  const metrics = createMetrics(() => store.pools(), callers);
  // Nobody else can migrate the embedded database. A shared one is migrated by `npm run migrate`.
  if (url === undefined || demo) {
    try {
      const applied = await migrate(database.writes.adapter);
      if (applied.length > 0) log.info({ applied }, 'migrations applied');
      const pets = demo ? await addDemoPets(database.writes.adapter) : 0;
      if (pets > 0) log.info({ pets }, 'demo pets added to the empty database');
    } catch (error) {
      const setting = url === undefined ? 'DATA_DIR' : 'DATABASE_URL';
      throw new Error(`${setting}: the database can't be prepared: ${errorMessage(error)}`, { cause: error });
    }
  }
  const stopping = new AbortController();
  const health = createDatabaseHealth({ store, log });
  const background = [health.watch(stopping.signal), deleteExpiredKeys({ store, log }, stopping.signal)];
  cleanup.defer(async () => {
    stopping.abort();
    await Promise.all(background);
  });
  // A parent process that is told "ready" finds the service ready, unless something is wrong with the database.
  await health.check(databaseTimeoutMs);

  service.open({ store, health, metrics, verifyToken, isDraining, tracing, log, now: Date.now });
  cleanup.defer(() => {
    // Only SIGTERM comes from an orchestrator, whose load balancers need time.
    const delayMs = reason === 'SIGTERM' ? config.shutdownDelayMs : 0;
    const timeout = AbortSignal.timeout(delayMs + config.shutdownTimeoutMs);
    return drain(delayMs, AbortSignal.any([forced.signal, timeout]));
  });
  log.info({ port }, `pets-service listens on ${config.host}:${port}`);
  return port;
}

/** Tells `npm start`, if it is the parent. A failure to send must not end the process with stores left open. */
function tellParent(message: Record<string, unknown>): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

/** Runs the service until a signal, or the end of its parent, stops it. */
async function run(): Promise<void> {
  const hadParent = process.send !== undefined;
  try {
    const config = loadConfig(process.env);
    tellParent({ type: 'configured' });
    const log = await createLog(config.logLevel);
    const starting = start(config, log);
    const stop = async () => {
      log.info({ reason }, 'stopping; requests in flight are finished first');
      await starting.catch(() => {});
      await cleanup.disposeAsync();
      log.info('stopped');
      process.exit(0);
    };
    const onStop = (cause: string) => {
      if (reason !== undefined) return forced.abort();
      reason = cause;
      stopped = stop();
    };
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onStop);
    process.on('disconnect', () => onStop('disconnect'));
    // The parent may have ended before anybody listened.
    if (hadParent && !process.connected) onStop('disconnect');
    const port = await starting;
    tellParent({ type: 'ready', port });
  } catch (error) {
    // A stop during the start ends the process itself.
    if (stopped !== undefined) return;
    await cleanup.disposeAsync();
    const messages = error instanceof ConfigError ? error.issues : [errorMessage(error)];
    for (const message of messages)
      process.stderr.write(`pets-service: ${message.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim()}\n`);
    process.exit(1);
  }
}

await run();
