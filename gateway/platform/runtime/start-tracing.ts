import type { Logger } from 'pino';
import type { TracingSettings } from './tracing-settings.ts';
import type { Tracing } from './tracing.ts';

interface TracingOptions {
  settings: TracingSettings | undefined;
  /** Name of the service unless the settings have another. */
  serviceName: string;
  log: Logger;
}

/** Loads OpenTelemetry only if traces are exported. @returns undefined if they are not */
export async function startTracing({
  settings,
  serviceName,
  log,
}: TracingOptions): Promise<Tracing | undefined> {
  if (settings === undefined) return undefined;
  const { createOtelTracing } = await import('./otel-tracing.ts');
  return createOtelTracing(settings, serviceName, log);
}
