import type { Logger } from 'pino';
import type { TracingSettings } from './tracing-settings.ts';
import type { Tracing } from './tracing.ts';

/** Loads OpenTelemetry only if traces are exported. @returns undefined if they are not */
export async function startTracing(
  settings: TracingSettings | undefined,
  log: Logger,
): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined;
  const { createOtelTracing } = await import('./otel-tracing.ts');
  return createOtelTracing(settings, log);
}
