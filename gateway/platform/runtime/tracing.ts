import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import type { Attributes, Span } from '@opentelemetry/api';

/** Spans of this process. They are exported in the background, and no request waits for that. */
export interface Tracing {
  /**
   * Starts the span of a request that this service serves. No sampler of the settings needs attributes, so they are set
   * on what is sampled only.
   * @param headers of a trusted peer, whose trace is continued (W3C Trace Context); undefined begins a new trace
   */
  startServerSpan(name: string, headers?: IncomingHttpHeaders): Span;
  /** Starts the span of a step inside this service. One that is not sampled is its parent itself, as of a call. */
  startInternalSpan(name: string, attributes: Attributes, parent: Span): Span;
  /**
   * Starts the span of a call of another system.
   * @param callers spans that the call is made for. Of a batch, the call is a child of the first sampled one; the others
   * and the call link to each other.
   */
  startClientSpan(name: string, attributes: Attributes, callers: readonly [Span, ...Span[]]): Span;
  /** Marks a span as failed. @param errorType of low cardinality, never a message */
  fail(span: Span, errorType: string): void;
  /** Headers that continue the trace in another service: names and values in turn. */
  headersOf(span: Span): string[];
  /** Exports what is left, for at most a second. Never rejects. */
  close(): Promise<void>;
}

const spansUnderWay = new AsyncLocalStorage<Span>();

/** Span of the request, or of its step, that the caller works for; undefined while traces are off. */
export const activeSpan = (): Span | undefined => spansUnderWay.getStore();

/** Calls a function, for which and for what it awaits `activeSpan` returns the span. */
export const runInSpan = <T>(span: Span, run: () => T): T => spansUnderWay.run(span, run);

/** Runs what a span measures, and ends it. An error marks it as failed. */
export async function measureSpan<T>(
  { fail }: Pick<Tracing, 'fail'>,
  span: Span,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await runInSpan(span, run);
  } catch (error) {
    fail(span, errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/**
 * Whether a span is exported. Not isRecording, which is false once it has ended: a request may go on when its client has
 * left. The flag is TraceFlags.SAMPLED, whose package is not loaded while traces are off.
 */
export const isSampled = (span: Span) => (span.spanContext().traceFlags & 1) === 1;

/**
 * Value of `error.type`: the code of an error, or its class. Never its message, which may quote a request.
 * @param error an error, or such a value itself
 */
export function errorTypeOf(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof Error)) return 'unknown';
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return /^\w{2,64}$/.test(code) ? code : error.name;
}
