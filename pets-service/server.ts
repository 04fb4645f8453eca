import { logConsoleLines } from '#runtime/console-lines.ts';
import { errorMessage } from '#runtime/error-message.ts';
import { runService, type Start } from '#runtime/lifecycle.ts';
import { listen } from '#runtime/listen.ts';
import { createLog } from '#runtime/log.ts';
import { logOwnStore } from '#runtime/own-store.ts';
import { startTracing } from '#runtime/start-tracing.ts';
import { addDemoPets } from '../prisma/demo-pets.ts';
import { migrate } from '../prisma/migrate.ts';
import { createPetsService } from './app.ts';
import { loadConfig, settings, type Config } from './config.ts';
import { createDatabaseHealth } from './database/database-health.ts';
import { openDatabase } from './database/database.ts';
import { deleteExpiredKeys } from './database/delete-expired-keys.ts';
import { createPetStore } from './database/pet-store.ts';
import { createStatementSpans } from './database/statement-spans.ts';
import { createHttpServer } from './http.ts';
import { createVerifyToken } from './internal-token.ts';
import { createMetrics } from './metrics.ts';
import { gatewayIssuers, loadTrustedKeys } from './token-keys.ts';

/** Maximum time that the start waits for the database before it says that it is ready. */
const databaseTimeoutMs = 1000;

const start: Start<Config> = async ({ config, log, cleanup, shutdown }) => {
  logConsoleLines(log);
  // The port first: if it is taken, neither keys nor a database are touched. Until `open`, requests get 503.
  const service = createPetsService();
  const { server, drain } = createHttpServer(service.app, config.timeouts);
  const names = { portSetting: 'PETS_SERVICE_PORT', hostSetting: 'PETS_SERVICE_HOST' };
  const port = await listen(server, { ...names, port: config.port, host: config.host });

  const { databaseUrl: url, databasePoolSize: poolSize, dataDirectory, demo } = config;
  const verifyToken = createVerifyToken(loadTrustedKeys(config), Date.now);
  const database = await openDatabase({ url, poolSize, dataDirectory });
  cleanup.defer(() => database.close());
  const text = `database: ${database.description}`;
  if (url === undefined) logOwnStore(log, { text, setting: 'DATABASE_URL' });
  else log.info(text);
  const tracing = await startTracing({ settings: config.tracing, serviceName: 'pets-service', log });
  cleanup.defer(() => tracing?.close());
  const onStatement = (pool: string, seconds: number) => metrics.recordStatement(pool, seconds);
  const store = createPetStore(database, { log, spans: createStatementSpans(tracing, url), onStatement });
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

  service.open({ store, health, metrics, verifyToken, drain, tracing, log, now: Date.now });
  cleanup.defer(() => drain.drain(shutdown()));
  log.info({ port }, `pets-service listens on ${config.host}:${port}`);
  return { port };
};

await runService<Config>({
  name: 'pets-service',
  settings,
  loadConfig,
  createLog: ({ logLevel }) => createLog('pets-service', logLevel),
  start,
});
