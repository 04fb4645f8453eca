import type { Session } from '../session.ts';
import { readTraffic, type TrafficPoint } from '../traffic.ts';

const hourMs = 3_600_000;
const minuteMs = 60_000;

/** Traffic of the last hour by the minute, oldest first. */
export async function readLastHour(session: Session): Promise<TrafficPoint[]> {
  const toMs = session.now();
  return (await readTraffic(session, { fromMs: toMs - hourMs, toMs, stepMs: minuteMs })).points;
}
