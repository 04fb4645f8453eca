import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import type { Logger } from 'pino';
import { migrate } from '../prisma/migrate.ts';
import { seedDemoPets } from '../prisma/seed.ts';
import { createPetsService } from './app.ts';
import { type Config, ConfigError, loadConfig } from './config.ts';
import { openDatabase } from './database/database.ts';
import { PetsError } from './errors.ts';
import { createDatabaseHealth } from './database/database-health.ts';
import { createDrain } from './http/drain.ts';
import { forgetOldKeys } from './database/forget-old-keys.ts';
import { createHttpServer } from './http/http-server.ts';
import { securityHeaders } from './http/security-headers.ts';
import { createVerifyToken } from './internal-token.ts';
import { loadPublicKeys } from './internal-token-keys.ts';
import { createLog } from './log.ts';
import { createMessageClasses } from './http/message-classes.ts';
import { createPetStore } from './database/pet-store.ts';

const now = () => Date.now();

/** What has to be undone at the end, in reverse order of its making. */
type Cleanup = (() => Promise<void> | void)[];

/** Starts the service. Rejects where it can't, with what was begun left in `cleanup`. */
async function start(config: Config, log: Logger, cleanup: Cleanup): Promise<void> {
  const publicKeys = loadPublicKeys(config.publicKeyFiles, config.dataDirectory);

  // The port first: where it is taken, no database has been touched.
  let app: RequestListener = answerStarting;
  const messageClasses = createMessageClasses();
  const server = createHttpServer((req, res) => app(req, res), messageClasses.classes, config.timeouts);
  const port = await listen(server, config);
  const drain = createDrain(server);

  const { databaseUrl: url, databasePoolSize: poolSize, dataDirectory } = config;
  const database = await openDatabase({ url, poolSize, dataDirectory });
  cleanup.push(() => database.close());
  log.info(`Database: ${database.description}`);
  // Nobody else can apply migrations to the embedded database; to a shared one `npm run migrate` does.
  if (url === undefined || config.demo) {
    const applied = await migrate(database.adapter);
    if (applied.length > 0) log.info({ applied }, 'migrations applied');
  }
  const store = createPetStore(database.adapter);
  cleanup.push(() => store.close());
  if (config.demo) {
    const pets = await seedDemoPets(store);
    if (pets > 0) log.info({ pets }, 'demo pets added to the empty database');
  }
  const stopping = new AbortController();
  const health = createDatabaseHealth({ store, log });
  const background = [health.watch(stopping.signal), forgetOldKeys({ store, log }, stopping.signal)];
  cleanup.push(async () => {
    stopping.abort();
    await Promise.all(background);
  });

  const verifyToken = createVerifyToken({ publicKeys, now });
  const service = createPetsService({ store, health, verifyToken, drain, log, now });
  messageClasses.adoptBy(service);
  app = service;
  cleanup.push(() => drain.drain(...patience(config)));
  log.info({ port }, `pets-service listens on ${config.host}:${port}`);
  process.send?.({ type: 'ready', port });
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

/** @throws Error that names the setting and the port, where the port can't be had */
async function listen(server: Server, { host, port }: Config): Promise<number> {
  try {
    server.listen({ port, host });
    await once(server, 'listening');
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
    const reason = taken ? 'is already in use by another program' : `can't be used (${String(error)})`;
    throw new Error(`PETS_SERVICE_PORT: ${host}:${port} ${reason}`, { cause: error });
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

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

async function stop(log: Logger, starting: Promise<void>): Promise<void> {
  log.info({ reason: stoppedBy }, 'stopping: requests in flight are finished first');
  // A start that failed is reported below.
  await starting.catch(() => {});
  await undo(cleanup);
  log.info('stopped');
  process.exit(0);
}

try {
  const config = loadConfig(process.env);
  process.send?.({ type: 'configured' });
  const log = createLog(config.logLevel);
  const starting = start(config, log, cleanup);
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
    error instanceof ConfigError ? error.faults : [error instanceof Error ? error.message : String(error)];
  for (const line of lines) process.stderr.write(`pets-service: ${line}\n`);
  process.exit(1);
}
