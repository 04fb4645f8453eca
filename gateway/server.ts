import { isIPv6 } from 'node:net';
import { runService } from '#runtime/lifecycle.ts';
import { createRequestLog, logConsoleLines } from '#runtime/log.ts';
import { startEvents } from './control/webhooks/deliver-events.ts';
import { provideDemoAccess } from './deploy/demo/demo-access.ts';
import { createConsole } from './faces/console/console.ts';
import {
  adminEndpoint,
  adminHostNames,
  choosePort,
  consoleLink,
  consoleOrigin,
  listen,
  publicEndpoint,
  publicOrigin,
} from './platform/config/endpoints.ts';
import { divideConnections, type InstanceConfig } from './platform/config/instance-config.ts';
import { setKeyPrefix } from './platform/config/key-prefix.ts';
import { createMetrics } from './platform/observability/metrics.ts';
import { startEmbeddedRedis } from './platform/redis/embedded/embedded-redis.ts';
import { createAdminServer } from './process/admin-server.ts';
import { createGatewayIdentity, createInstance, startTracing } from './process/instance.ts';
import { createPrimary } from './process/primary.ts';
import { createReload, loadSettings } from './process/reload.ts';
import { loadPrivateKey } from './upstream/internal-token.ts';

await runService(loadSettings, async ({ config, log, writer, cleanup, shutdown, onReload }) => {
  setKeyPrefix(config.api.keyPrefix);
  const ready = Promise.withResolvers<() => void>();
  onReload(() => void ready.promise.then((reload) => reload()));
  logConsoleLines(log);
  // Before anything is started or written.
  await choosePort(publicEndpoint(config));
  await choosePort(adminEndpoint(config));
  const privateKey = loadPrivateKey(config.internalTokenPrivateKeyFile, config.dataDir);

  let { redisUrl } = config;
  if (redisUrl === undefined) {
    const embedded = await startEmbeddedRedis(config.dataDir, log);
    cleanup.defer(() => embedded.close());
    // In production, with a forgotten address of the shared Redis, all keys would seem to be lost.
    const isForgotten = process.env['NODE_ENV'] === 'production';
    if (isForgotten) log.warn(`Redis: ${embedded.description}; REDIS_URL is not set`);
    else log.info(`Redis: ${embedded.description}`);
    redisUrl = embedded.url;
  }
  const instanceConfig: InstanceConfig = {
    ...config,
    ...divideConnections(config),
    redisUrl,
    redisIsPrivate: config.redisUrl === undefined,
  };
  const metrics = createMetrics();
  const gateway = createGatewayIdentity(config.workers);
  const shared = { config: instanceConfig, privateKey, gateway, log, metrics };
  const primary = config.workers === 1 ? undefined : createPrimary(shared);
  // One worker is this process itself.
  const service =
    primary ??
    createInstance({
      ...shared,
      worker: null,
      logRequest: createRequestLog(log, writer),
      tracing: await startTracing(config.tracing, log),
    });
  cleanup.defer(() => service.close());

  const listening = { port: config.port };
  const adminConsole = createConsole({
    ...instanceConfig,
    api: config.api,
    publicOrigin: () => publicOrigin({ ...config, ...listening }),
    log,
    now: () => Date.now(),
  });
  cleanup.defer(() => adminConsole.close());
  const adminServer = createAdminServer({
    ...service,
    ...adminConsole,
    metricsType: metrics.registry.contentType,
    hostNames: adminHostNames(config),
    adminUrl: config.adminUrl,
  });
  const adminPort = await listen(adminServer, adminEndpoint(config));
  gateway.adminAddress = `${isIPv6(config.adminHost) ? `[${config.adminHost}]` : config.adminHost}:${adminPort}`;
  cleanup.defer(() => {
    adminServer.close();
    adminServer.closeAllConnections();
  });
  const origin = consoleOrigin(config, adminPort);
  gateway.consoleOrigin = origin;
  const port = await service.listen();
  listening.port = port;
  const events = startEvents({
    redisUrl,
    webhookAllowedNetworks: config.webhookAllowedNetworks,
    metrics,
    log,
    now: () => Date.now(),
  });
  cleanup.defer(() => events.close());
  ready.resolve(
    primary === undefined
      ? () => log.warn('SIGHUP changes nothing without workers; restart the gateway to apply changed files')
      : createReload({ ...primary, config, log }),
  );
  cleanup.defer(() => service.drain(shutdown()));
  log.info({ port, adminPort }, `gateway listens on port ${port}, admin on ${config.adminHost}:${adminPort}`);

  if (!config.demo) return { port, adminPort };
  const { demoKey, consoleCode } = await provideDemoAccess({ dataDirectory: config.dataDir, redisUrl, log });
  return {
    port,
    adminPort,
    demoKey,
    consoleLink: consoleCode === undefined ? undefined : consoleLink(origin, consoleCode),
  };
});
