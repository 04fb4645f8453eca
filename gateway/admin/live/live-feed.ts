import { z } from 'zod';
import { allRefusals, trafficSummarySchema } from '../../operations/traffic-summary.ts';
import type { LiveState } from './live-state.ts';

const milliseconds = z.number().nullable().describe('Milliseconds; null without requests');

/** One second of the past, for charts of the last minutes. */
export const livePointSchema = z
  .object({
    at: z.iso.datetime(),
    seconds: z.number().describe('Time that the counts cover'),
    byStatus: trafficSummarySchema.shape.byStatus,
    refusals: z.int(),
    bannedRequests: z.int(),
    p50: milliseconds,
    p99: milliseconds,
  })
  .meta({ id: 'LivePoint', description: 'Durations are of the last five seconds.' });

export type LivePoint = z.infer<typeof livePointSchema>;

export interface LiveListener {
  /** @param event text of a server-sent event */
  send(event: string): void;
}

/** One computation a second for all consoles of this process, while there is at least one. */
export interface LiveFeed {
  /** @returns a function that ends it */
  subscribe(listener: LiveListener): () => void;
  close(): void;
}

const intervalMs = 1000;
const keptPoints = 300;

interface LiveFeedDependencies {
  /** Creates the reading of the state; a new one whenever a first console comes. */
  createReader: () => () => Promise<LiveState>;
  /** Told of what is a bug. */
  logUnexpected: (error: unknown) => void;
}

/** Each console first gets the events `history` and `state`, and then a `state` each second. */
export function createLiveFeed({ createReader, logUnexpected }: LiveFeedDependencies): LiveFeed {
  const listeners = new Set<LiveListener>();
  let points: LivePoint[] = [];
  let latest = '';
  let lastId = 0;
  let timer: NodeJS.Timeout | undefined;

  function start(): void {
    const readState = createReader();
    let reading = false;
    points = [];
    latest = '';

    async function tick(): Promise<void> {
      if (reading) return;
      reading = true;
      try {
        publish(await readState());
      } catch (error) {
        logUnexpected(error);
      } finally {
        reading = false;
      }
    }

    const ownTimer = setInterval(() => void tick(), intervalMs);
    timer = ownTimer;
    void tick();

    function publish(state: LiveState): void {
      // The last console may have left meanwhile.
      if (timer !== ownTimer) return;
      const point = pointOf(state);
      if (point !== undefined) points = [...points.slice(1 - keptPoints), point];
      lastId += 1;
      latest = formatEvent('state', state, lastId);
      for (const listener of listeners) listener.send(latest);
    }
  }

  function stop(): void {
    clearInterval(timer);
    timer = undefined;
  }

  return {
    subscribe(listener) {
      listeners.add(listener);
      if (timer === undefined) start();
      listener.send(formatEvent('history', points));
      if (latest !== '') listener.send(latest);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stop();
      };
    },
    close: stop,
  };
}

function pointOf({ traffic }: LiveState): LivePoint | undefined {
  if (traffic === null) return undefined;
  const { at, seconds, counted, perSecond } = traffic;
  return {
    at,
    seconds,
    byStatus: counted.byStatus,
    refusals: allRefusals(counted.refusals),
    bannedRequests: counted.bannedRequests,
    p50: perSecond.latencyMs.served?.p50 ?? null,
    p99: perSecond.latencyMs.served?.p99 ?? null,
  };
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
function formatEvent(name: string, content: unknown, id?: number): string {
  return `event: ${name}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(content)}\n\n`;
}
