import type { History, RecordedRequest, Violation } from './history.ts';

const shownPerPromise = 3;
const aroundMs = 1000;

/** The counts of a run in one line. */
export function summarize(
  { requests, changes, faults, outages }: History,
  violations: readonly Violation[],
): string {
  const statuses = Map.groupBy(requests, ({ status }) => (status === 0 ? 'none' : String(status)));
  const byStatus = Array.from(statuses, ([status, same]) => `${same.length} ${status}`).toSorted();
  return [
    `${requests.length} requests (${byStatus.join(', ')})`,
    `${changes.length} changes`,
    `${faults.length} faults`,
    `${outages.length} outages`,
    `${violations.length} violations`,
  ].join(', ');
}

/** The first violations of each promise, with what happened around the requests that show them. */
export function describeViolations(history: History, violations: readonly Violation[]): string {
  const byId = new Map(history.requests.map((request) => [request.id, request]));
  const byPromise = Map.groupBy(violations, ({ promise }) => promise);
  return Array.from(byPromise, ([promise, found]) => {
    const lines = found.slice(0, shownPerPromise).flatMap(({ message, requests: ids }) => {
      const shown = ids.flatMap((id) => byId.get(id) ?? []).slice(0, 4);
      return [`  ${message}`, around(history, shown).map((line) => `    ${line}`)].flat();
    });
    return [`${promise}: ${found.length}`, ...lines].join('\n');
  }).join('\n');
}

function around(history: History, shown: readonly RecordedRequest[]): string[] {
  const [first] = shown;
  const ofOwner =
    first &&
    history.requests.filter(
      ({ owner, endMs }) =>
        owner === first.owner && endMs >= first.startMs - aroundMs && endMs <= first.endMs,
    );
  const startMs = Math.min(...shown.map((request) => request.startMs)) - aroundMs;
  const endMs = Math.max(...shown.map((request) => request.endMs));
  const at = (ms: number) => ((ms - history.startMs) / 1000).toFixed(3);
  const isNear = (event: { startMs: number; endMs: number }) =>
    event.startMs <= endMs && event.endMs >= startMs - 5000;
  const events = [...new Set([...(ofOwner ?? []).slice(-6), ...shown])].map((request) => ({
    ms: request.startMs,
    text: describeRequest(request, at),
  }));
  const others = [
    ...history.changes.filter(isNear).map(({ startMs: ms, endMs: end, ...rest }) => ({
      ms,
      text: `to ${at(end)} operator: ${JSON.stringify(rest)}`,
    })),
    ...history.faults.filter(isNear).map(({ startMs: ms, endMs: end, kind, gateway }) => ({
      ms,
      text: `to ${at(end)} fault: ${kind} ${gateway ?? ''}`,
    })),
    ...history.outages.filter(isNear).map(({ startMs: ms, endMs: end, gateway }) => ({
      ms,
      text: `to ${at(end)} gateway ${gateway} without Redis`,
    })),
  ];
  return [...events, ...others]
    .toSorted((one, other) => one.ms - other.ms)
    .map(({ ms, text }) => `${at(ms)} ${text}`);
}

function describeRequest(
  { id, key, gateway, method, status, code, endMs, headers }: RecordedRequest,
  at: (ms: number) => string,
): string {
  const wait = headers['retry-after'];
  return [
    `to ${at(endMs)} ${id} ${method} gateway ${gateway} ${key}: ${status} ${code ?? ''}`,
    headers['ratelimit'] ?? '',
    headers['ratelimit-policy'] ?? '',
    wait === undefined ? '' : `Retry-After ${wait} (${headers['x-ratelimit-window']})`,
  ].join(' ');
}
