import type { BanPolicy } from '../../gateway/quota/policies.ts';

/*
 * What a checker gets to see of a run. All times are Unix milliseconds of one machine, which is also that of Redis, so they can
 * be compared. Whatever belongs to a window of time is an interval: nobody outside knows when in it a thing was decided.
 */

/** From before something began to after it was complete. */
export interface Interval {
  startMs: number;
  endMs: number;
}

export interface RecordedRequest extends Interval {
  /** X-Request-Id, which the upstream gets, too. */
  id: string;
  client: string;
  /** Whose quota it uses. */
  owner: string;
  /** Id of the API key, which is what is banned, revoked and expires. */
  key: string;
  gateway: number;
  method: 'GET' | 'POST';
  /** 0 if there was no complete response. */
  status: number;
  /** Code of an error, or `notConnected`. */
  code?: string | undefined;
  /** Message of an error. */
  message?: string | undefined;
  /** Headers by their names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/** The windows that have a limit in these histories. */
export type LimitedWindow = 'minute' | 'day';
export type WindowLimits = Record<LimitedWindow, number>;

/** What decides which limits an owner has: a plan, and limits in place of the plan's. */
export interface OwnerLimits extends Partial<WindowLimits> {
  plan: string;
}

/** A change by an operator or a customer. `unknown`: its reply was lost, so it may have been made or not. */
export type Change = Interval & { outcome: 'made' | 'unknown' } & (
    | { does: 'set limits'; owner: string; limits: OwnerLimits }
    | { does: 'set plan'; plan: string; limits: WindowLimits }
    | { does: 'revoke'; key: string }
    /** The key expires this long after the change. */
    | { does: 'expire'; key: string; afterMs: number }
    | { does: 'ban'; key: string; forMs: number }
    | { does: 'lift'; key: string }
    /** A key that was issued; undefined if nobody was told its id. */
    | { does: 'create'; owner: string; key?: string | undefined }
    | { does: 'suspend'; owner: string }
    | { does: 'resume'; owner: string }
  );
export type ChangeOf<Does extends Change['does']> = Extract<Change, { does: Does }>;

/** What a change does. */
export type ChangeMade = Change extends infer One
  ? One extends Change
    ? Omit<One, 'startMs' | 'endMs' | 'outcome'>
    : never
  : never;

export interface Fault extends Interval {
  kind: string;
  /** `link` is what connects a gateway with Redis. */
  target: 'redis' | 'link' | 'gateway' | 'upstream';
  /** Undefined for what all gateways share. */
  gateway?: number | undefined;
}

/** Time in which a gateway decided without Redis, by its own log. */
export interface Outage extends Interval {
  gateway: number;
}

/** A process of a gateway, from before it was started to after its end. */
export interface Life extends Interval {
  gateway: number;
  /** Whether it was killed, so that it lost what it had not reported. */
  killed: boolean;
}

export interface Use {
  served: number;
  refused: number;
}

export interface History extends Interval {
  policy: BanPolicy;
  /** Limits at the start. */
  plans: Readonly<Record<string, WindowLimits>>;
  owners: Readonly<Record<string, OwnerLimits>>;
  /** Minutes that were open at the start; the interval is that of their end. */
  opened: readonly (Interval & { owner: string; used: number })[];
  requests: readonly RecordedRequest[];
  changes: readonly Change[];
  faults: readonly Fault[];
  outages: readonly Outage[];
  lives: readonly Life[];
  /** Ids of the requests that the upstream has received, in order. Undefined if it does not tell. */
  forwarded?: readonly string[] | undefined;
  /** Record of use of each owner after the gateways were stopped. Undefined if it was not read. */
  use?: Readonly<Record<string, Use>> | undefined;
}

export interface Violation {
  /** Name of the promise. */
  promise: string;
  message: string;
  /** Ids of the requests that show it. */
  requests: readonly string[];
}

export const overlaps = (one: Interval, other: Interval): boolean =>
  one.startMs <= other.endMs && other.startMs <= one.endMs;
export const isWithin = (inner: Interval, outer: Interval): boolean =>
  inner.startMs >= outer.startMs && inner.endMs <= outer.endMs;
/** Whether it concerns what decides on requests. */
export const disturbsDecisions = ({ target }: Fault): boolean => target !== 'upstream';
export const isServed = ({ status }: RecordedRequest): boolean => status >= 200 && status < 300;
/** In place of a code: the gateway's port was closed, so the request did not reach it. */
export const notConnected = 'not_connected';
/** Whether the gateway could not check the key. It then shows the limit of the address; a service may send the same code. */
export const isUnchecked = ({ code, headers }: RecordedRequest): boolean =>
  code === 'service_unavailable' && headers['ratelimit']?.startsWith('"ip"') === true;
/** A failure of the gateway's own, whose units are given back before the response. */
export const isGivenBack = ({ status }: RecordedRequest): boolean => status >= 502 && status <= 504;
/** Whether it may have used quota. Without a response nobody knows. */
export const mayCount = (request: RecordedRequest): boolean =>
  request.status !== 401 && request.status !== 429 && request.code !== notConnected && !isUnchecked(request);
/** Whether it may be a strike towards a ban. */
export const mayBeStrike = ({ status, code }: RecordedRequest): boolean =>
  code === 'rate_limit_exceeded' || (status === 0 && code !== notConnected);
/** Whether it has used quota: a request with a valid key counts unless the gateway fails to serve it (CLIENTS.md, Limits). */
export const counts = (request: RecordedRequest): boolean =>
  request.status !== 0 && mayCount(request) && !isGivenBack(request);
