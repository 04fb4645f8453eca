import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { addDemoPets } from '../prisma/demo-pets.ts';
import { migrate } from '../prisma/migrate.ts';
import { createPetsService } from './app.ts';
import { loadConfig, type Config } from './config.ts';
import { createDatabaseHealth, openDatabase, type Database } from './database/database.ts';
import { createPetStore } from './database/pet-store.ts';
import { createVerifyToken, loadPublicKeys } from './internal-token.ts';
import { createLog, createMetrics, startTracing } from './observability.ts';

/** Maximum time that the start waits for the database before it says that it is ready. */
const databaseTimeoutMs = 1000;
/** 1,000 keys a second, in statements that take less than a tenth. */
const deletionBatch = 10_000;
const deletionIntervalMs = 10_000;

const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** Tells a parent process such as `npm start`, if there is one. */
function tellParent(message: object): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}

async function start(config: Config): Promise<void> {
  const hasParent = process.connected;
  const log = createLog(config.LOG_LEVEL);
  const keysOf = loadPublicKeys(config);
  const database = await openDatabase(config);
  // In production, with a forgotten address of the database, all pets would seem to be lost.
  const isForgotten = config.DATABASE_URL === undefined && process.env['NODE_ENV'] === 'production';
  if (isForgotten) log.warn(`database: ${database.description}; DATABASE_URL is not set`);
  else log.info(`database: ${database.description}`);
  const flushTraces = await startTracing(process.env);
  const metrics = createMetrics();
  const store = createPetStore(database, metrics.recordStatement);
  // Nobody else can migrate the embedded database. A shared one is migrated by `npm run migrate`.
  if (config.DATABASE_URL === undefined || config.DEMO) {
    const { applied, pets } = await prepare(database, config);
    if (applied.length > 0) log.info({ applied }, 'migrations applied');
    if (pets > 0) log.info({ pets }, 'demo pets added to the empty database');
  }
  const health = createDatabaseHealth({ store, log });
  // A parent process that is told "ready" finds the service ready, unless something is wrong with the database.
  await health.check(databaseTimeoutMs);

  let draining = false;
  const verifyToken = createVerifyToken(keysOf, Date.now);
  const isDraining = () => draining;
  const app = createPetsService({ store, health, metrics, verifyToken, isDraining, log, now: Date.now });
  const server = createHttpServer(app, config);
  const { PETS_SERVICE_HOST: host } = config;
  await once(server.listen(config.PETS_SERVICE_PORT, host), 'listening').catch((error: unknown) => {
    throw new Error(`PETS_SERVICE_HOST, PETS_SERVICE_PORT: ${errorMessage(error)}`, { cause: error });
  });
  // The health check reports an unavailable database. Expired keys have no effect.
  const deleteExpiredKeys = () => store.deleteExpiredKeys(deletionBatch).catch(() => {});
  void deleteExpiredKeys();
  const deletion = setInterval(() => void deleteExpiredKeys(), deletionIntervalMs);

  const stop = async (reason: string) => {
    // A second signal: requests in flight are waited for no longer.
    if (draining) return server.closeAllConnections();
    draining = true;
    log.info({ reason }, 'stopping; requests in flight are finished first');
    clearInterval(deletion);
    // Only SIGTERM comes from an orchestrator, whose load balancers need time.
    if (reason === 'SIGTERM') await sleep(config.SHUTDOWN_DELAY_MS);
    const closed = once(server.close(), 'close');
    setInterval(() => server.closeIdleConnections(), 50);
    setTimeout(() => server.closeAllConnections(), config.SHUTDOWN_TIMEOUT_MS);
    await closed;
    await Promise.all([flushTraces(), store.close()]);
    await database.close();
    log.info('stopped');
    process.exit(0);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'disconnect'] as const) {
    process.on(signal, () => void stop(signal));
  }
  const address = server.address();
  const port = address instanceof Object ? address.port : config.PETS_SERVICE_PORT;
  log.info({ port }, `pets-service listens on ${host}:${port}`);
  tellParent({ type: 'ready', port });
  // The parent may have ended during the start.
  if (hasParent && !process.connected) void stop('disconnect');
}

function createHttpServer(app: RequestListener, settings: Config) {
  // Longer than the gateway allows its clients, so that the gateway sends the 408.
  const requestTimeout = 2 * settings.REQUEST_TIMEOUT_MS;
  const server = createServer({
    // The most that the gateway accepts from its clients, 64 KiB, with room for what it adds.
    maxHeaderSize: 80 * 1024,
    headersTimeout: Math.min(10_000, requestTimeout),
    requestTimeout,
    keepAliveTimeout: settings.KEEP_ALIVE_TIMEOUT_MS,
  });
  const serve: RequestListener = (req, res) => {
    // Scheme and host of an absolute form are removed (RFC 9112 section 3.2.2). Express would answer what is no path in HTML.
    const path = (req.url ?? '').replace(/^https?:\/\/[^/?#]*/i, '');
    req.url = path.startsWith('/') ? path : '/';
    app(req, res);
  };
  // A refused request gets no 100 Continue.
  return server.on('request', serve).on('checkContinue', serve);
}

async function prepare({ writes }: Database, { DATABASE_URL, DEMO }: Config) {
  try {
    const applied = await migrate(writes);
    return { applied, pets: DEMO ? await addDemoPets(writes) : 0 };
  } catch (error) {
    const setting = DATABASE_URL === undefined ? 'DATA_DIR' : 'DATABASE_URL';
    throw new Error(`${setting}: the database can't be prepared: ${errorMessage(error)}`, { cause: error });
  }
}

try {
  await start(loadConfig(process.env));
} catch (error) {
  const messages: unknown[] = error instanceof AggregateError ? error.errors : [error];
  for (const message of messages) {
    process.stderr.write(`pets-service: ${errorMessage(message).trim().split(/\s+/).join(' ')}\n`);
  }
  process.exit(1);
}
