import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { addDemoPets } from '../prisma/demo-pets.ts';
import { migrate } from '../prisma/migrate.ts';
import { createPetsService } from './app.ts';
import { loadConfig, type Config } from './config.ts';
import { openDatabase, type DatabasePools } from './database/database.ts';
import { createPetStore } from './database/pet-store.ts';
import { createVerifyToken, loadPublicKeys } from './internal-token.ts';
import { createLog, createMetrics, startTracing } from './observability.ts';

/** 1,000 keys a second, in statements that take less than a tenth. */
const deletionBatch = 10_000;
const deletionIntervalMs = 10_000;

const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function start(config: Config): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  const keysOf = loadPublicKeys(config);
  const database = await openDatabase(config);
  log.info(`database: ${database.description}`);
  const flushTraces = await startTracing(process.env);
  const metrics = createMetrics();
  const store = createPetStore(database, log);
  // Nobody else can migrate the embedded database. A shared one is migrated by `npm run migrate`.
  if (config.DATABASE_URL === undefined || config.DEMO) await prepare(database, config, log);
  // A parent process that is told "ready" finds the service ready, unless something is wrong with the database.
  await store.check();

  let draining = false;
  const verifyToken = createVerifyToken(keysOf, Date.now);
  const isDraining = () => draining;
  const app = createPetsService({ store, metrics, verifyToken, isDraining, log, now: Date.now });
  // Longer than the gateway allows its clients, so that the gateway sends the 408.
  const requestTimeout = 2 * config.REQUEST_TIMEOUT_MS;
  const options = {
    // The most that the gateway accepts from its clients, 64 KiB, with room for what it adds.
    maxHeaderSize: 80 * 1024,
    headersTimeout: Math.min(10_000, requestTimeout),
    requestTimeout,
    keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS,
  };
  const serve: RequestListener = (req, res) => {
    // Scheme and host of an absolute form are removed (RFC 9112 section 3.2.2). Express would answer what is no path in HTML.
    const path = (req.url ?? '').replace(/^https?:\/\/[^/?#]*/i, '');
    req.url = path.startsWith('/') ? path : '/';
    app(req, res);
  };
  const server = createServer(options, serve);
  const { PETS_SERVICE_HOST: host } = config;
  await once(server.listen(config.PETS_SERVICE_PORT, host), 'listening').catch((error: unknown) => {
    throw new Error(`PETS_SERVICE_HOST, PETS_SERVICE_PORT: ${errorMessage(error)}`, { cause: error });
  });
  // The health check reports an unavailable database. Expired keys have no effect.
  const deleteExpiredKeys = () => store.deleteExpiredKeys(deletionBatch).catch(() => {});
  void deleteExpiredKeys();
  setInterval(() => void deleteExpiredKeys(), deletionIntervalMs);

  const stop = async (reason: string) => {
    // A second signal: requests in flight are waited for no longer.
    if (draining) return server.closeAllConnections();
    draining = true;
    log.info({ reason }, 'stopping; requests in flight are finished first');
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
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(signal, () => void stop(signal));
  }
  const address = server.address();
  const port = address instanceof Object ? address.port : config.PETS_SERVICE_PORT;
  log.info({ port }, `pets-service listens on ${host}:${port}`);
  // A parent process such as `npm start`. A failure to reach it is its end, which is an event of its own.
  if (process.connected) process.send?.({ type: 'ready', port }, undefined, undefined, () => {});
}

async function prepare({ writes }: DatabasePools, { DATABASE_URL, DEMO }: Config, log: Logger) {
  try {
    const applied = await migrate(writes);
    if (applied.length > 0) log.info({ applied }, 'migrations applied');
    const pets = DEMO ? await addDemoPets(writes) : 0;
    if (pets > 0) log.info({ pets }, 'demo pets added to the empty database');
  } catch (error) {
    const setting = DATABASE_URL === undefined ? 'DATA_DIR' : 'DATABASE_URL';
    throw new Error(`${setting}: the database can't be prepared: ${errorMessage(error)}`, { cause: error });
  }
}

// A parent process such as `npm start` has ended, also during the start. What was committed is on the disk.
process.once('disconnect', () => process.exit(0));
try {
  await start(loadConfig(process.env));
} catch (error) {
  const messages: unknown[] = error instanceof AggregateError ? error.errors : [error];
  for (const message of messages) {
    process.stderr.write(`pets-service: ${errorMessage(message).trim().split(/\s+/).join(' ')}\n`);
  }
  process.exit(1);
}
