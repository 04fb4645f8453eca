import {
  disturbsDecisions,
  isWithin,
  overlaps,
  type Change,
  type ChangeOf,
  type History,
  type Interval,
  type LimitedWindow,
  type OwnerLimits,
  type RecordedRequest,
  type WindowLimits,
} from './history.ts';

/** What all promises ask of a history. */
export interface View {
  history: History;
  /** Requests by owner and by key, in the order in which they were sent. */
  byOwner: ReadonlyMap<string, readonly RecordedRequest[]>;
  byKey: ReadonlyMap<string, readonly RecordedRequest[]>;
  /** Whether it may have been decided without Redis. */
  mayBeLocal(request: RecordedRequest): boolean;
  /** Whether it was decided without Redis in any case. */
  isLocal(request: RecordedRequest): boolean;
  /** Every limit that may have been in force at a gateway in an interval. */
  limits(owner: string, window: LimitedWindow, interval: Interval, gateway: number): readonly number[];
  /** Every limit until a time. */
  limitsUntil(owner: string, window: LimitedWindow, endMs: number): readonly number[];
  changes<Does extends Change['does']>(does: Does): readonly ChangeOf<Does>[];
  /** The time, or the end of the faults that disturb a gateway around it. */
  calmAfter(gateway: number, ms: number): number;
}

/** A command that is given up after 100 ms, and a log line with the time in milliseconds. */
const beforeOutageMs = 250;
const afterOutageMs = 50;
/** OPERATE.md says a second; a busy machine may take longer. */
const planMs = 1500;
const calmMs = 1000;

export function createView(history: History): View {
  const inOrder = history.requests.toSorted((one, other) => one.startMs - other.startMs);
  const killed = history.lives.filter((life) => life.killed);
  // A killed process has not written the last lines of its log.
  const possible = [
    ...history.outages.map(({ gateway, startMs, endMs }) => ({
      gateway,
      startMs: startMs - beforeOutageMs,
      endMs: endMs + afterOutageMs,
    })),
    ...killed.map(({ gateway, endMs }) => ({ gateway, startMs: endMs - beforeOutageMs, endMs })),
  ];
  const disturbances = [...history.faults.filter(disturbsDecisions), ...history.outages].toSorted(
    (one, other) => one.startMs - other.startMs,
  );

  const changes = <Does extends Change['does']>(does: Does) =>
    history.changes.filter((change): change is ChangeOf<Does> => change.does === does);

  /** States that may be in force in an interval: each from its change on, until the next one is made. */
  function states<State>(
    first: State | undefined,
    made: readonly (Interval & { outcome: string; limits: State })[],
    interval: Interval,
    lateMs: (madeMs: number) => number,
  ): State[] {
    const start = { startMs: -Infinity, endMs: -Infinity, outcome: 'made', limits: first };
    return [start, ...made].flatMap(({ startMs, limits }, index) => {
      const next = made.slice(index).filter(({ outcome }) => outcome === 'made');
      const untilMs = Math.min(Infinity, ...next.map(({ endMs }) => lateMs(endMs)));
      return limits !== undefined && startMs <= interval.endMs && untilMs >= interval.startMs ? [limits] : [];
    });
  }

  function planLimits(plan: string, interval: Interval, lateMs: (ms: number) => number): WindowLimits[] {
    const made = changes('set plan').filter((change) => change.plan === plan);
    return states(history.plans[plan], made, interval, lateMs);
  }

  function limitsWithin(
    owner: string,
    window: LimitedWindow,
    interval: Interval,
    lateMs: (ms: number) => number,
  ) {
    const made = changes('set limits').filter((change) => change.owner === owner);
    const found = states<OwnerLimits>(history.owners[owner], made, interval, (ms) => ms);
    return found.flatMap(
      (own) => own[window] ?? planLimits(own.plan, interval, lateMs).map((limits) => limits[window]),
    );
  }

  function calmAfter(gateway: number, ms: number): number {
    let calm = ms;
    for (const { gateway: own, startMs, endMs } of disturbances) {
      if ((own === undefined || own === gateway) && startMs <= calm + calmMs && endMs > calm) calm = endMs;
    }
    return calm;
  }

  return {
    history,
    byOwner: Map.groupBy(inOrder, ({ owner }) => owner),
    byKey: Map.groupBy(inOrder, ({ key }) => key),
    mayBeLocal: (request) =>
      possible.some((outage) => outage.gateway === request.gateway && overlaps(outage, request)),
    isLocal: (request) =>
      history.outages.some((outage) => outage.gateway === request.gateway && isWithin(request, outage)),
    limits: (owner, window, interval, gateway) =>
      limitsWithin(owner, window, interval, (ms) => calmAfter(gateway, ms) + planMs),
    limitsUntil: (owner, window, endMs) =>
      limitsWithin(owner, window, { startMs: -Infinity, endMs }, () => Infinity),
    changes,
    calmAfter,
  };
}
