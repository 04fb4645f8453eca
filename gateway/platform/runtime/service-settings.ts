import { boolean, logLevel, milliseconds, text } from './environment.ts';
import { tracingVariables } from './tracing-settings.ts';

/** Settings that the pets service has as well, by the same names. */
export const serviceSettings = {
  DATA_DIR: text
    .default('.data')
    .describe('directory of embedded stores, generated token keys and the demo key'),
  LOG_LEVEL: logLevel.default('info').describe('fatal, error, warn, info, debug, trace or silent'),
  REQUEST_TIMEOUT_MS: milliseconds()
    .default(30_000)
    .describe('timeout for each 64 KiB of a request body; twice that to read the response'),
  // Longer than the idle timeout of common load balancers, 60 s, so that they do not use a connection being closed.
  KEEP_ALIVE_TIMEOUT_MS: milliseconds().default(65_000).describe("idle timeout of a client's connection"),
  SHUTDOWN_DELAY_MS: milliseconds(0)
    .default(2000)
    .describe('time between SIGTERM and the first refused connection'),
  SHUTDOWN_TIMEOUT_MS: milliseconds().default(30_000).describe('time for requests in flight after that'),
  DEMO: boolean
    .default(false)
    .describe('demo pets in an empty database, a demo key, migrations at startup; true with `npm start`'),
  ...tracingVariables,
};
