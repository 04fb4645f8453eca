import { disturbsDecisions, isServed, isUnchecked, overlaps, type RecordedRequest } from '../history.ts';
import { endOf, numberIn, shownWindows } from '../rate-headers.ts';
import type { View } from '../view.ts';
import { finding, findingIf, type Find } from './promise.ts';

/** What clients of these histories may get, that REFERENCE.md lists. */
const documented: Readonly<Record<number, readonly string[]>> = {
  401: ['revoked_api_key', 'expired_api_key', 'unknown_api_key', 'account_suspended'],
  404: ['not_found', 'pet_not_found'],
  413: ['payload_too_large'],
  429: ['rate_limit_exceeded', 'api_key_banned'],
  502: ['upstream_error'],
  503: ['upstream_unavailable', 'service_unavailable'],
  504: ['upstream_timeout'],
};

const describe = ({ status, code }: RecordedRequest) => `${status}${code === undefined ? '' : ` ${code}`}`;

export const onlyDocumented: Find = ({ history }) =>
  history.requests
    .filter((request) => request.status !== 0 && !isServed(request))
    .filter(({ status, code }) => documented[status]?.includes(code ?? '') !== true)
    .map((request) => finding(`undocumented response ${describe(request)}`, request));

/** What a process decides alone, or remembers, has the time of Redis as it was read over a link that may be slow. */
const readClockMs = 500;

/** X-RateLimit shows the window of RateLimit with the least left, or on a 429 the one that refused it. */
export const headersAgree: Find = (view) =>
  view.history.requests
    .filter(({ status }) => status !== 0)
    .flatMap((request) => {
      const problem = disagreement(request, view.mayBeLocal(request) ? readClockMs : 0);
      return problem === undefined ? [] : [finding(`${describe(request)}: ${problem}`, request)];
    });

function disagreement(request: RecordedRequest, clockMs: number): string | undefined {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) =>
    numberIn(request, `x-ratelimit-${name}`),
  );
  if (limit === undefined || remaining === undefined || reset === undefined)
    return 'X-RateLimit headers are missing';
  const windows = shownWindows(request);
  const least = Math.min(...Array.from(windows.values(), (window) => window.remaining));
  const named = request.status === 429 ? request.headers['x-ratelimit-window'] : undefined;
  const shown = Array.from(windows).find(
    ([name, window]) =>
      (named === undefined ? window.remaining === least : name === named) &&
      window.limit === limit &&
      window.remaining === remaining &&
      isEnd(request, window.resetSeconds, reset, /^(ip|ban)$/.test(name) ? readClockMs : clockMs),
  );
  if (shown === undefined) return 'X-RateLimit and RateLimit disagree';
  if (request.status !== 429) return undefined;
  const retryAfter = numberIn(request, 'retry-after');
  if (retryAfter !== Math.max(1, shown[1].resetSeconds)) return `Retry-After is ${retryAfter}`;
  return remaining === 0 ? undefined : 'refused with something left';
}

/** X-RateLimit-Reset is rounded up after the time of the decision was added. */
function isEnd(request: RecordedRequest, resetSeconds: number, reset: number, clockMs: number): boolean {
  const end = endOf(request, { resetSeconds });
  return reset * 1000 >= end.startMs - clockMs && reset * 1000 <= end.endMs + 1000 + clockMs;
}

/** A refused request is not forwarded, a create is forwarded once at most, and what succeeds was forwarded. */
export const forwardedOnce: Find = ({ history }) => {
  if (history.forwarded === undefined) return [];
  const times = new Map<string, number>();
  for (const id of history.forwarded) times.set(id, (times.get(id) ?? 0) + 1);
  return history.requests.flatMap((request) => {
    const sent = times.get(request.id) ?? 0;
    const most = request.status === 401 || request.status === 429 ? 0 : request.method === 'POST' ? 1 : 2;
    const isWrong = sent > most || (sent === 0 && isServed(request));
    const message = `${request.method} with ${describe(request)} was forwarded ${sent} times`;
    return findingIf(isWrong, message, request);
  });
};

/** A process that has served a key goes on doing so without Redis. */
export const knownKeysAreServed: Find = (view) => {
  const { lives, requests } = view.history;
  return requests.flatMap((request) => {
    if (!isUnchecked(request)) return [];
    const life = lives.find(
      (one) => one.gateway === request.gateway && request.startMs > one.startMs && request.endMs < one.endMs,
    );
    const isKnown = (view.byKey.get(request.key) ?? []).some(
      (other) =>
        isServed(other) &&
        other.gateway === request.gateway &&
        other.endMs < request.startMs &&
        other.startMs > (life?.startMs ?? Infinity),
    );
    return findingIf(isKnown, `${request.key}: not served, though known`, request);
  });
};

/** A service that was ejected is tried again within 8 s (OPERATE.md). */
const recoveryMs = 10_000;

/** Errors of the upstream come from its faults, and a lost response from a process that was killed. */
export const errorsHaveACause: Find = ({ history }: View) => {
  const upstream = history.faults
    .filter(({ target }) => target === 'upstream')
    .map(({ startMs, endMs }) => ({ startMs, endMs: endMs + recoveryMs }));
  const killed = history.faults.filter(
    ({ target, kind }) => target === 'gateway' && kind !== 'pause gateway',
  );
  return history.requests.flatMap((request) => {
    const isLost = request.status === 0;
    if (!isLost && request.code?.startsWith('upstream_') !== true) return [];
    const causes = isLost ? killed.filter(({ gateway }) => gateway === request.gateway) : upstream;
    const hasCause = causes.some((cause) => overlaps(cause, request));
    return findingIf(!hasCause, `${isLost ? 'no response' : describe(request)} without a fault`, request);
  });
};

/** Redis is used again soon after it is back; RUNBOOK.md says 2 s. */
const backMs = 10_000;

export const outagesEnd: Find = ({ history }) =>
  history.outages.flatMap(({ gateway, startMs, endMs }) => {
    const disturbing = history.faults.filter(
      (fault) => disturbsDecisions(fault) && (fault.gateway ?? gateway) === gateway && fault.startMs <= endMs,
    );
    const calmMs = Math.max(startMs, ...disturbing.map((fault) => fault.endMs));
    const lateMs = endMs - calmMs;
    const message = `gateway ${gateway} did not use Redis for ${Math.round(lateMs)} ms after it was back`;
    return findingIf(lateMs > backMs, message);
  });
