import type { LogWriter } from '#runtime/log-writer.ts';
import type { Logger } from 'pino';

/** Writes the access log's line of one request. */
export type LogRequest = (fields: Readonly<Record<string, string | number | boolean | undefined>>) => void;

/**
 * Writes the same line as `log.info(fields, 'request')`. pino inspects each field, which for the one line that every
 * request has takes longer than all steps of the journey together.
 * @param writer undefined on a terminal, where pino writes readable lines
 */
export function createRequestLog(log: Logger, writer: LogWriter | undefined): LogRequest {
  if (!log.isLevelEnabled('info')) return () => {};
  if (writer === undefined) return (fields) => log.info(fields, 'request');
  const bindings = JSON.stringify(log.bindings()).slice(1, -1);
  return function logRequest(fields) {
    const own = JSON.stringify(fields).slice(1, -1);
    writer.write(`{"level":30,"time":${Date.now()},${bindings},${own},"msg":"request"}\n`);
  };
}
