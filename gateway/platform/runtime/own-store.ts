import type { Logger } from 'pino';

/**
 * Logs which store of its own a process has. In production it is a warning: with a forgotten address of the shared store, all
 * keys would seem to be lost.
 * @param setting that names the shared store
 */
export function logOwnStore(
  log: Pick<Logger, 'info' | 'warn'>,
  { text, setting }: { text: string; setting: string },
  { NODE_ENV }: NodeJS.ProcessEnv = process.env,
): void {
  if (NODE_ENV === 'production') log.warn(`${text}; ${setting} is not set`);
  else log.info(text);
}
