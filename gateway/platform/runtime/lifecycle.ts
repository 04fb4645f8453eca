import { isatty } from 'node:tty';
import { ConfigError } from './environment.ts';
import { errorMessage, oneLine } from './error-message.ts';
import type { Log } from './log.ts';

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

/** Starts a service. @returns what a parent process, such as `npm start`, is told */
export type Start<Config> = (context: Context<Config>) => Promise<Record<string, unknown>>;

interface Program<Config> {
  /** Prefix of the messages on standard error. */
  name: string;
  /** @throws ConfigError with every invalid setting */
  loadConfig(env: NodeJS.ProcessEnv): Config;
  createLog(config: Config): Log;
  start: Start<Config>;
}

interface ShutdownConfig {
  shutdownDelayMs: number;
  shutdownTimeoutMs: number;
}

/** How long the end waits for the reader of the log. */
const logFlushTimeoutMs = 1000;

/**
 * Runs a service until a signal stops it. SIGTERM waits for load balancers; Ctrl-C, SIGHUP and the end of the parent
 * process have none to wait for. To the gateway, SIGHUP is its end only if its terminal was closed. Not close-with-grace: at a second signal it ends the process with code 1 at once,
 * with stores left open, and it knows no stop during the start.
 */
export async function runService<Config extends ShutdownConfig>(program: Program<Config>): Promise<void> {
  const cleanup = new AsyncDisposableStack();
  const forced = new AbortController();
  const terminals = [0, 1, 2].filter((descriptor) => isatty(descriptor));
  let reload: (() => void) | undefined;
  let reason: string | undefined;
  let stopped: Promise<void> | undefined;
  try {
    const config = program.loadConfig(process.env);
    const logging = program.createLog(config);
    const { log, flush } = logging;
    const shutdown = (): Shutdown => {
      const delayMs = reason === 'SIGTERM' ? config.shutdownDelayMs : 0;
      const timeout = AbortSignal.timeout(delayMs + config.shutdownTimeoutMs);
      return { delayMs, force: AbortSignal.any([forced.signal, timeout]) };
    };
    const onReload = (callback: () => void) => {
      reload = callback;
    };
    const starting = program.start({ ...logging, config, cleanup, shutdown, onReload });
    const stop = async () => {
      log.info({ reason }, 'stopping; requests in flight are finished first');
      await starting.catch(() => {});
      await cleanup.disposeAsync();
      log.info('stopped');
      await flush(logFlushTimeoutMs);
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
    tellParent({ type: 'ready', ...ready });
  } catch (error) {
    // A stop during the start ends the process itself.
    await stopped;
    await cleanup.disposeAsync();
    const messages = error instanceof ConfigError ? error.issues : [errorMessage(error)];
    for (const message of messages) process.stderr.write(`${program.name}: ${oneLine(message)}\n`);
    process.exit(1);
  }
}

/** Does nothing if there is no parent any more: sending would raise an error that ends the process with stores left open. */
function tellParent(message: Record<string, unknown>): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
