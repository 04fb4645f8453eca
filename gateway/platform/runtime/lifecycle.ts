import { isatty } from 'node:tty';
import type { Config } from '../config/config.ts';
import { ConfigError } from './environment.ts';
import { errorMessage, oneLine } from './error-message.ts';
import { createLog, type Log } from './log.ts';

/** How a service that has to stop treats what is still under way. */
export interface Shutdown {
  /** Time between saying that the service drains and refusing connections, in milliseconds. */
  delayMs: number;
  /** Aborted when nothing is waited for any longer: the time is over, or a second signal came. */
  force: AbortSignal;
}

interface Context<Config> extends Log {
  config: Config;
  /** Steps that run when the service stops or its start fails, in reverse order. */
  cleanup: AsyncDisposableStack;
  /** To be called when draining begins. */
  shutdown(): Shutdown;
  /** From now on, SIGHUP calls back in place of stopping the service. */
  onReload(reload: () => void): void;
}

type ServiceConfig = Pick<Config, 'logLevel' | 'shutdownDelayMs' | 'shutdownTimeoutMs'>;

/** How long the end waits for the reader of the log. */
const logFlushTimeoutMs = 1000;

/**
 * Runs a service until a signal stops it. SIGTERM waits for load balancers; Ctrl-C, SIGHUP and the end of the parent
 * process have none to wait for. To the gateway, SIGHUP is its end only if its terminal was closed. Not close-with-grace: at
 * a second signal it ends the process with code 1 at once, with stores left open, and it knows no stop during the start.
 * @param loadConfig throws ConfigError with every invalid setting
 * @param start returns what a parent process, such as `npm start`, is told
 */
export async function runService<Settings extends ServiceConfig>(
  loadConfig: (env: NodeJS.ProcessEnv) => Settings,
  start: (context: Context<Settings>) => Promise<Record<string, unknown>>,
): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  const forced = new AbortController();
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  let reload: (() => void) | undefined;
  let reason: string | undefined;
  let stopped: Promise<void> | undefined;
  try {
    const config = loadConfig(process.env);
    const logging = createLog(config.logLevel);
    const { log, writer } = logging;
    const shutdown = (): Shutdown => {
      const delayMs = reason === 'SIGTERM' ? config.shutdownDelayMs : 0;
      const timeout = AbortSignal.timeout(delayMs + config.shutdownTimeoutMs);
      return { delayMs, force: AbortSignal.any([forced.signal, timeout]) };
    };
    const onReload = (callback: () => void) => {
      reload = callback;
    };
    const starting = start({ ...logging, config, cleanup, shutdown, onReload });
    const stop = async () => {
      log.info({ reason }, 'stopping; requests in flight are finished first');
      await starting.catch(() => {});
      await cleanup.disposeAsync();
      log.info('stopped');
      await writer?.flush(logFlushTimeoutMs);
      process.exit(0);
    };
    const onStop = (cause: string) => {
      if (reason !== undefined) return forced.abort();
      reason = cause;
      stopped = stop();
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, onStop);
    process.on('SIGHUP', (signal) => {
      // The system makes a terminal no terminal before it sends the signal.
      const isTerminalClosed = terminals.some((descriptor) => !isatty(descriptor));
      if (reload === undefined || isTerminalClosed) onStop(signal);
      else reload();
    });
    process.on('disconnect', () => onStop('disconnect'));
    const ready = await starting;
    // Without a parent, sending would raise an error that ends the process with stores left open.
    if (process.connected) process.send?.({ type: 'ready', ...ready }, undefined, undefined, () => {});
  } catch (error) {
    // A stop during the start ends the process itself.
    await stopped;
    await cleanup.disposeAsync();
    const messages = error instanceof ConfigError ? error.issues : [errorMessage(error)];
    for (const message of messages) process.stderr.write(`gateway: ${oneLine(message)}\n`);
    process.exit(1);
  }
}
