import { z } from 'zod';
import { countsSince } from '../traffic/traffic-counters.ts';
import type { TrafficCounts } from '../traffic/traffic-fields.ts';
import type { FleetProcess } from './fleet-status.ts';
import { summarizeTraffic, trafficSummarySchema } from './traffic-summary.ts';

/** Traffic of all gateways between two readings of their counters. */
export const fleetTrafficSchema = z.object({
  at: z.iso.datetime().describe('Time of the later reading'),
  seconds: z.number().describe('Time that `counted` covers'),
  counted: trafficSummarySchema.describe(
    'Requests since the state before; none is missing, and none is in two states',
  ),
  perSecond: trafficSummarySchema.describe('Rates and durations of the last five seconds'),
});

export type FleetTraffic = z.infer<typeof fleetTrafficSchema>;

interface Reading {
  atMs: number;
  /** Processes by id. */
  processes: Map<string, { atMs: number; counts: TrafficCounts }>;
}

/** Readings, one each second, that a rate is computed from: each process has a half second of its own in which it counts. */
const windowReadings = 6;
/** A process that was not read before counts from its start if that was no longer ago. */
const newProcessMs = 60_000;

/**
 * Computes traffic from the counters that each process publishes. The first reading is only where it begins.
 * @returns undefined for the first reading
 */
export function createFleetTraffic(): (
  processes: readonly Pick<FleetProcess, 'id' | 'seenAtMs' | 'startedAt' | 'counts'>[],
  atMs: number,
) => FleetTraffic | undefined {
  let readings: Reading[] = [];

  return function addReading(processes, atMs) {
    const before = readings.at(-1);
    const reading: Reading = { atMs, processes: new Map() };
    const counted: TrafficCounts = new Map();
    for (const { id, seenAtMs, startedAt, counts } of processes) {
      const latest = { atMs: seenAtMs, counts: new Map(Object.entries(counts)) };
      reading.processes.set(id, latest);
      const earlier = before?.processes.get(id)?.counts;
      const isNew = earlier === undefined && atMs - Date.parse(startedAt) < newProcessMs;
      if (before === undefined || (earlier === undefined && !isNew)) continue;
      addTo(counted, countsSince(earlier ?? new Map(), latest.counts));
    }
    readings = [...readings.slice(1 - windowReadings), reading];
    if (before === undefined) return undefined;
    return {
      at: new Date(atMs).toISOString(),
      // The clock of this gateway stands in for the one of Redis during an outage.
      seconds: Math.max(0, atMs - before.atMs) / 1000,
      counted: summarizeTraffic(counted, undefined),
      perSecond: summarizeTraffic(rates(readings), undefined),
    };
  };
}

/** Each process by its own times, so that it does not matter when in the second it was read. */
function rates(readings: readonly Reading[]): TrafficCounts {
  const perSecond: TrafficCounts = new Map();
  for (const [id, latest] of readings.at(-1)?.processes ?? []) {
    const first = readings.find(({ processes }) => processes.has(id))?.processes.get(id);
    const seconds = (latest.atMs - (first?.atMs ?? latest.atMs)) / 1000;
    if (first === undefined || seconds <= 0) continue;
    addTo(perSecond, countsSince(first.counts, latest.counts), 1 / seconds);
  }
  return perSecond;
}

function addTo(sums: TrafficCounts, counts: TrafficCounts, factor = 1): void {
  for (const [field, count] of counts) sums.set(field, (sums.get(field) ?? 0) + count * factor);
}
