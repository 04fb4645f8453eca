import type { RequestListener } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Logger } from 'pino';
import { migrate } from '../prisma/migrate.ts';
import { createPetsService } from './app.ts';
import { ConfigError, loadConfig, type Config } from './config.ts';
import { createDatabaseHealth } from './database/database-health.ts';
import { openDatabase } from './database/database.ts';
import { forgetOldKeys } from './database/delete-expired-keys.ts';
import { createPetStore } from './database/pet-store.ts';
import { seedDemoPets } from './demo-pets.ts';
import { PetsError } from './errors.ts';
import { createHttpServer } from './http/http-server.ts';
import { createMessageClasses } from './http/message-classes.ts';
import { securityHeaders } from './http/security-headers.ts';
import { loadPublicKeys } from './internal-token-keys.ts';
import { createVerifyToken } from './internal-token.ts';
import { createLog, type Log } from './log.ts';
import { createDrain } from './runtime/drain.ts';
import { listen } from './runtime/listen.ts';

/** How long the start waits for the database. */
const readyPatienceMs = 1000;

/** How long the end waits for whoever reads the log. */
const logPatienceMs = 1000;

const now = () => Date.now();

/** What has to be undone at the end, in reverse order of its making. */
type Cleanup = (() => Promise<void> | void)[];

/** Starts the service. Rejects where it can't, with what was begun left in `cleanup`. */
async function start(config: Config, log: Logger, cleanup: Cleanup): Promise<void> {
  // The port first: where it can't be had, neither keys nor a database have been touched.
  let app: RequestListener = answerStarting;
  const messageClasses = createMessageClasses();
  const server = createHttpServer((req, res) => app(req, res), messageClasses.classes, config.timeouts);
  const port = await listen(server, config);
  const drain = createDrain(server);

  const publicKeys = loadPublicKeys(config.publicKeyFiles, config.dataDirectory);
  const { databaseUrl: url, databasePoolSize: poolSize, dataDirectory } = config;
  const database = await openDatabase({ url, poolSize, dataDirectory });
  cleanup.push(() => database.close());
  log.info(`Database: ${database.description}`);
  // Nobody else can apply migrations to the embedded database; to a shared one `npm run migrate` does.
  if (url === undefined || config.demo) {
    const applied = await onDatabase(config, () => migrate(database.adapter));
    if (applied.length > 0) log.info({ applied }, 'migrations applied');
  }
  const store = createPetStore(database.adapter);
  cleanup.push(() => store.close());
  if (config.demo) {
    const pets = await onDatabase(config, () => seedDemoPets(store));
    if (pets > 0) log.info({ pets }, 'demo pets added to the empty database');
  }
  const stopping = new AbortController();
  const health = createDatabaseHealth({ store, log });
  const background = [health.watch(stopping.signal), forgetOldKeys({ store, log }, stopping.signal)];
  cleanup.push(async () => {
    stopping.abort();
    await Promise.all(background);
  });
  // Who is told that this instance serves finds it ready, unless there is something wrong with the database.
  await Promise.race([health.ask(), sleep(readyPatienceMs, undefined, { ref: false })]);

  const verifyToken = createVerifyToken({ publicKeys, now });
  const service = createPetsService({ store, health, verifyToken, drain, log, now });
  messageClasses.adoptBy(service);
  app = service;
  cleanup.push(() => drain.drain(...patience(config)));
  log.info({ port }, `pets-service listens on ${config.host}:${port}`);
  process.send?.({ type: 'ready', port });
}

/** Does what a start needs of the database. @throws Error that names the setting that says which one it is */
async function onDatabase<T>({ databaseUrl }: Config, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const setting = databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL';
    const reason = error instanceof Error ? error.message : inspect(error);
    throw new Error(`${setting}: the database can't be made ready: ${reason}`, { cause: error });
  }
}

/** While the database is opened and migrated. The process lives, and serves nothing yet. */
const answerStarting: RequestListener = (req, res) => {
  if (req.url === '/livez') {
    res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' }).end('{"status":"ok"}');
    return;
  }
  const { body, status } = new PetsError('service_unavailable', { message: 'The service is starting.' });
  const type = { 'Content-Type': 'application/json; charset=utf-8' };
  res.writeHead(status, { ...type, ...securityHeaders, 'Retry-After': '1' });
  res.end(JSON.stringify(body));
};

async function undo(cleanup: Cleanup): Promise<void> {
  for (let step = cleanup.pop(); step !== undefined; step = cleanup.pop()) await step();
}

const cleanup: Cleanup = [];
let stoppedBy: string | undefined;
/** Given with the second signal: whoever sends it does not want to wait for requests in flight. */
const impatience = new AbortController();

/** How long to wait before connections are refused, and what ends all waiting. Ctrl-C has no balancer to wait for. */
function patience({ shutdownDelayMs, shutdownTimeoutMs }: Config): [delayMs: number, cutOff: AbortSignal] {
  const cutOff = AbortSignal.any([
    impatience.signal,
    AbortSignal.timeout(shutdownDelayMs + shutdownTimeoutMs),
  ]);
  return [stoppedBy === 'SIGTERM' ? shutdownDelayMs : 0, cutOff];
}

async function stop({ log, flush }: Log, starting: Promise<void>): Promise<void> {
  log.info({ reason: stoppedBy }, 'stopping: requests in flight are finished first');
  // A start that failed is reported below.
  await starting.catch(() => {});
  await undo(cleanup);
  log.info('stopped');
  await flush(logPatienceMs);
  process.exit(0);
}

try {
  const config = loadConfig(process.env);
  process.send?.({ type: 'configured' });
  const log = createLog(config.logLevel);
  const starting = start(config, log.log, cleanup);
  const onStop = (reason: string) => {
    if (stoppedBy !== undefined) return impatience.abort();
    stoppedBy = reason;
    void stop(log, starting);
  };
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, onStop);
  // The process that started this one is gone, and with it the terminal.
  process.on('disconnect', () => onStop('disconnect'));
  await starting;
} catch (error) {
  await undo(cleanup);
  const lines =
    error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : inspect(error)];
  // One line each, whatever a library or a value brings along.
  for (const line of lines)
    process.stderr.write(`pets-service: ${line.trim().replaceAll(/\s*[\r\n]\s*/g, ' ')}\n`);
  process.exit(1);
}
