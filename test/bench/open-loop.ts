import { readFile } from 'node:fs/promises';
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { Pool } from 'undici';
import { leadInSeconds, type OpenLoad, type OpenLoopResult } from './load.ts';

/*
 * The load generator of npm run bench:fire, a process of its own. Each request has a time at which it is due, whatever
 * happens to the ones before, and its latency counts from then: a gateway that stalls cannot postpone what would have
 * been slow. A thread keeps the schedule, because the timers of an event loop are exact to a millisecond only.
 */

interface Schedule {
  startMs: number;
  intervalMs: number;
  count: number;
}

/** Connections that the load may open. It opens a further one only while all others wait for a response. */
const maxConnections = 256;
const timeoutMs = 10_000;

/** Milliseconds of a clock that all threads share. */
const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** Posts the time at which a request is due, when it is due. */
function keepSchedule({ startMs, intervalMs, count }: Schedule): void {
  const cell = new Int32Array(new SharedArrayBuffer(4));
  for (let index = 0; index < count; index += 1) {
    const dueMs = startMs + index * intervalMs;
    const waitMs = dueMs - nowMs();
    if (waitMs > 0) Atomics.wait(cell, 0, 0, waitMs);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    parentPort?.postMessage(dueMs);
  }
}

function record(histogram: RecordableHistogram, ms: number): void {
  histogram.record(Math.max(1, Math.round(ms * 1000)));
}

async function run({
  url,
  keys: file,
  requestsPerSecond,
  seconds,
  ...options
}: OpenLoad): Promise<OpenLoopResult> {
  const { origin, pathname, search } = new URL(url);
  const keys = (await readFile(file, 'utf8')).split('\n').map((key) => ({ authorization: `Bearer ${key}` }));
  const ca = options.certificate === undefined ? {} : { ca: await readFile(options.certificate, 'utf8') };
  const pool = new Pool(origin, {
    connections: maxConnections,
    connect: ca,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
    ...(options.requestsPerConnection === undefined
      ? {}
      : { maxRequestsPerClient: options.requestsPerConnection }),
  });
  const request = { path: `${pathname}${search}`, method: 'GET' } as const;
  const [latencies, lateness] = [createHistogram(), createHistogram()];
  const statuses: Record<string, number> = {};

  /** Calls back with the status or the code of the error. Streams of bodies would cost the generator half as much again. */
  function send(done: (outcome: string) => void): void {
    const headers = keys[Math.floor(Math.random() * keys.length)] ?? null;
    let status = 0;
    pool.dispatch(
      { ...request, headers },
      {
        onRequestStart: () => {},
        onResponseStart: (_controller, statusCode) => {
          status = statusCode;
        },
        onResponseData: () => {},
        onResponseEnd: () => done(String(status)),
        onResponseError: (_controller, error) => done((error as NodeJS.ErrnoException).code ?? error.name),
      },
    );
  }

  const startMs = nowMs() + 100;
  const count = Math.round(requestsPerSecond * (leadInSeconds + seconds));
  const schedule: Schedule = { startMs, intervalMs: 1000 / requestsPerSecond, count };
  const clock = new Worker(new URL(import.meta.url), { workerData: schedule });
  const begun = Math.ceil(requestsPerSecond * leadInSeconds);
  let [sent, ended] = [0, 0];
  await new Promise<void>((resolve, reject) => {
    clock.once('error', reject);
    clock.on('message', (dueMs: number) => {
      const lateMs = nowMs() - dueMs;
      const counts = sent >= begun;
      if (sent === begun) process.send?.('begun');
      sent += 1;
      send((outcome) => {
        if (counts) {
          record(lateness, lateMs);
          record(latencies, nowMs() - dueMs);
          statuses[outcome] = (statuses[outcome] ?? 0) + 1;
        }
        ended += 1;
        if (ended === count) resolve();
      });
    });
  });
  await pool.close();
  const ms = (histogram: RecordableHistogram, percent: number) => histogram.percentile(percent) / 1000;
  return {
    requestsPerSecond: latencies.count / seconds,
    p50: ms(latencies, 50),
    p99: ms(latencies, 99),
    p999: ms(latencies, 99.9),
    late: ms(lateness, 99),
    statuses,
  };
}

if (isMainThread) {
  const result = await run(JSON.parse(process.argv[2] ?? '{}') as OpenLoad);
  process.send?.(result);
} else {
  keepSchedule(workerData as Schedule);
}
