/**
 * - unknown: not heard of yet; used until requests have failed there
 * - ready: used
 * - not_ready: says so itself, as it starts or drains; used while there is no other
 * - away: does not answer, or answers nothing usable; left out
 */
export type TargetState = 'unknown' | 'ready' | 'not_ready' | 'away';

/** One instance of the service behind the gateway, and what is known of it. */
export interface Target {
  /** Such as http://127.0.0.1:3001. Its parts below are what http-proxy-middleware expects of a target. */
  readonly origin: string;
  readonly protocol: string;
  readonly hostname: string;
  readonly port: string;
  state: TargetState;
  /** Whether it has been ready since this gateway started. */
  everReady: boolean;
  /** Requests that were given to it and are not settled yet. */
  inFlight: number;
  /** Requests that had a whole answer, ever. */
  answered: number;
  /** Requests in a row that failed because of it. */
  failures: number;
  /** Probes in a row that found nobody. */
  misses: number;
  /** Raised when it is left out: what was under way then says nothing about how it is now. */
  absences: number;
  /** Whether it has answered a request since it was last left out. */
  proven: boolean;
  /** How often in a row it came back and answered no request. */
  vainReturns: number;
  /** Good probes that are still wanted before it is used again. */
  probesToPass: number;
}

export function createTarget(url: string): Target {
  const { origin, protocol, hostname, port } = new URL(url);
  return {
    origin,
    protocol,
    hostname,
    port,
    state: 'unknown',
    everReady: false,
    inFlight: 0,
    answered: 0,
    failures: 0,
    misses: 0,
    absences: 0,
    proven: true,
    vainReturns: 0,
    probesToPass: 0,
  };
}

const maxFailures = 5;
const maxMisses = 2;
const maxMissesAlone = 4;
const maxMissesAtStart = 10;
/** Each return in vain doubles the wait for the next one, up to this many probes: eight seconds. */
const maxProbesToPass = 16;

/** @returns whether it has failed too often in a row now; after a return, once is too often */
export function countFailure(target: Target): boolean {
  target.failures += 1;
  return target.failures >= (target.proven ? maxFailures : 1);
}

/**
 * Where no other target is ready, nobody gains by leaving this one out in haste: it, or this process, may be busy for a
 * moment, and services that are started together take their time.
 * @param others whether another target is ready
 * @returns whether nobody was found too often in a row now
 */
export function countMiss(target: Target, others: boolean): boolean {
  target.misses += 1;
  if (others) return target.misses >= maxMisses;
  return target.misses >= (target.everReady ? maxMissesAlone : maxMissesAtStart);
}

export function countAnswer(target: Target): void {
  target.answered += 1;
  target.failures = 0;
  target.proven = true;
}

/** Before it is left out. */
export function countAbsence(target: Target): void {
  target.absences += 1;
  target.vainReturns = target.proven ? 0 : target.vainReturns + 1;
  target.probesToPass = Math.min(2 ** target.vainReturns, maxProbesToPass);
  target.proven = false;
  target.failures = 0;
  target.misses = 0;
}

/** The better one of two for a request. */
export function isBetter(target: Target, other: Target): boolean {
  const unready = target.state === 'not_ready';
  if (unready !== (other.state === 'not_ready')) return !unready;
  return target.inFlight < other.inFlight;
}
