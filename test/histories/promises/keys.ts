import { strikesToBan } from '../../../gateway/limits/setting-fields.ts';
import {
  isServed,
  mayBeStrike,
  overlaps,
  type ChangeOf,
  type Interval,
  type RecordedRequest,
} from '../history.ts';
import { endOf, numberIn, shownWindows } from '../rate-headers.ts';
import type { View } from '../view.ts';
import { finding, findingIf, type Find } from './promise.ts';

const isRevocation = ({ code }: RecordedRequest) => code === 'revoked_api_key' || code === 'expired_api_key';
const isBanned = ({ code }: RecordedRequest) => code === 'api_key_banned';
/** An own end of a key holds by the clock of Redis, which each gateway reads now and then. */
const clockMs = 1000;
/** A process remembers a ban for a second; a busy machine may take longer. */
const rememberedMs = 1250;
/** A process that was paused remembers it for longer. */
const pausedMs = 5000;

const requestsOf = (view: View, key: string) => view.byKey.get(key) ?? [];

/** After a revocation is confirmed, no request that is sent later succeeds or is forwarded. */
export const revokedIsRefused: Find = (view) => {
  const forwarded = new Set(view.history.forwarded ?? []);
  return view.changes('revoke').flatMap(({ key, outcome, endMs }) =>
    requestsOf(view, key)
      .filter((request) => outcome === 'made' && request.startMs > endMs && !view.mayBeLocal(request))
      .filter((request) => isServed(request) || forwarded.has(request.id))
      .map((request) => finding(`${key}: served after it was revoked`, request)),
  );
};

/** After its end, a key does not work, with or without Redis. */
export const expiredIsRefused: Find = (view) =>
  view.changes('expire').flatMap(({ key, outcome, endMs, afterMs }) =>
    requestsOf(view, key)
      .filter((request) => outcome === 'made' && request.startMs > endMs + afterMs + clockMs)
      // What a gateway read before the change has no end yet.
      .filter((request) => isServed(request) && !view.mayBeLocal(request))
      .map((request) => finding(`${key}: served after its end`, request)),
  );

/** A key that is valid gets a response, or learns which of its limits is used up. */
const isTakenForValid = (request: RecordedRequest) =>
  isServed(request) || ['minute', 'day'].includes(request.headers['x-ratelimit-window'] ?? '');

/** All keys of a suspended customer are refused as such, from the confirmation on until somebody ends the suspension. */
export const suspendedIsRefused: Find = (view) =>
  view.changes('suspend').flatMap(({ owner, outcome, startMs, endMs }) => {
    const resumed = view.changes('resume').filter((one) => one.owner === owner && one.endMs > startMs);
    const untilMs = Math.min(Infinity, ...resumed.map((one) => one.startMs));
    return (view.byOwner.get(owner) ?? [])
      .filter((request) => outcome === 'made' && request.startMs > endMs && request.endMs < untilMs)
      .filter((request) => isTakenForValid(request) && !view.mayBeLocal(request))
      .map((request) => finding(`${owner}: accepted while it was suspended`, request));
  });

/** Whether the owner of a key may be suspended, as far as any gateway knows. */
function mayBeSuspended(view: View, { owner, gateway, startMs, endMs }: RecordedRequest): boolean {
  return view.changes('suspend').some((suspend) => {
    const resumed = view
      .changes('resume')
      .filter((one) => one.owner === owner && one.outcome === 'made' && one.startMs > suspend.startMs);
    const untilMs = Math.min(Infinity, ...resumed.map((one) => view.calmAfter(gateway, one.endMs)));
    return suspend.owner === owner && suspend.startMs <= endMs && startMs <= untilMs;
  });
}

/** A key that nobody has ended is valid, and accepted if its customer is not suspended. */
export const validIsAccepted: Find = (view) => {
  const ends = [...view.changes('revoke'), ...view.changes('expire')];
  return view.history.requests
    .filter(({ status }) => status === 401)
    .filter((request) => {
      if (request.code === 'account_suspended') return !mayBeSuspended(view, request);
      const possible = ends.filter(({ key, startMs }) => key === request.key && startMs <= request.endMs);
      return possible.length === 0 || !isRevocation(request);
    })
    .map((request) => finding(`${request.key}: ${request.code} although it is valid`, request));
};

/** While a ban of an operator lasts, no request that is sent after its confirmation succeeds. */
export const bannedIsRefused: Find = (view) => {
  const bans = view.changes('ban');
  const lifts = view.changes('lift');
  return bans.flatMap((ban) => {
    const replaces = ({ key, startMs, endMs }: ChangeOf<'ban' | 'lift'>, request: RecordedRequest) =>
      key === ban.key && endMs >= ban.startMs && startMs <= request.endMs;
    return requestsOf(view, ban.key)
      .filter((request) => ban.outcome === 'made' && isServed(request) && !view.mayBeLocal(request))
      .filter(({ startMs, endMs }) => startMs > ban.endMs && endMs < ban.startMs + ban.forMs)
      .filter((request) => !lifts.some((lift) => replaces(lift, request)))
      .filter((request) => !bans.some((other) => other !== ban && replaces(other, request)))
      .map((request) => finding(`${ban.key}: served during its ban`, request));
  });
};

/** Whether an operator's ban may be in force. */
function mayBeBannedByOperator(view: View, { key, startMs, endMs }: RecordedRequest): boolean {
  return view
    .changes('ban')
    .some(
      (ban) =>
        ban.key === key &&
        ban.startMs <= endMs &&
        view.calmAfter(-1, ban.endMs) + ban.forMs + rememberedMs >= startMs,
    );
}

/**
 * Requests that may be strikes of a key between two times. What Redis refused too late for the process, which then decided
 * alone, is one, too.
 */
function strikesBetween(view: View, key: string, fromMs: number, untilMs: number): RecordedRequest[] {
  return requestsOf(view, key).filter(
    (request) =>
      (mayBeStrike(request) || view.mayBeLocal(request)) &&
      request.endMs > fromMs &&
      request.startMs < untilMs,
  );
}

function strikesNeeded(view: View, { owner, endMs }: RecordedRequest): number {
  return strikesToBan(view.history.policy, Math.min(...view.limitsUntil(owner, 'minute', endMs)));
}

/** A remembered ban seems to end later by the time that the reply took. */
const sameEndMs = 500;

/** The first response of each ban of a key by gateways, and when the ban ends. Bans are told apart by their ends. */
function bansOf(view: View, key: string): { first: RecordedRequest; end: Interval }[] {
  const bans: { first: RecordedRequest; end: Interval }[] = [];
  for (const request of requestsOf(view, key)) {
    if (!isBanned(request) || mayBeBannedByOperator(view, request)) continue;
    const end = endOf(request, { resetSeconds: numberIn(request, 'retry-after') ?? 0 });
    end.endMs += sameEndMs;
    if (!bans.some((ban) => overlaps(ban.end, end))) bans.push({ first: request, end });
  }
  return bans;
}

/** No key is banned for fewer strikes than the policy says, or for requests within the grace period. */
export const bansAreEarned: Find = (view) =>
  Array.from(view.byKey.keys()).flatMap((key) => {
    const bans = bansOf(view, key).map(({ first }) => first);
    return bans.flatMap((first, index) => {
      const refused = strikesBetween(view, key, bans[index - 1]?.startMs ?? -Infinity, first.endMs);
      // After a ban, the refusal that began the grace period may be from before it.
      const graceMs = index === 0 ? view.history.policy.graceSeconds * 1000 : 0;
      const beganMs = Math.min(...refused.map(({ startMs }) => startMs));
      const strikes = refused.filter(({ endMs }) => endMs > beganMs + graceMs);
      const needed = strikesNeeded(view, first);
      // With the one that led to the ban.
      const count = strikes.length + 1;
      const message = `${key}: banned after ${count} of ${needed} strikes`;
      return findingIf(count < needed, message, ...strikes.slice(0, 3), first);
    });
  });

/** A key whose ban was lifted is banned again only for new strikes. */
export const liftedIsFree: Find = (view) =>
  view.changes('lift').flatMap((lift) =>
    requestsOf(view, lift.key)
      .filter((request) => lift.outcome === 'made' && isBanned(request) && !view.mayBeLocal(request))
      .filter(({ gateway, startMs }) => startMs > view.calmAfter(gateway, lift.endMs) + rememberedMs)
      .filter(
        ({ endMs }) =>
          !view
            .changes('ban')
            .some((ban) => ban.key === lift.key && ban.endMs > lift.startMs && ban.startMs < endMs),
      )
      .filter(
        (request) =>
          strikesBetween(view, lift.key, lift.startMs, request.endMs).length < strikesNeeded(view, request),
      )
      .map((request) => finding(`${lift.key}: banned although its ban was lifted`, request)),
  );

/** A request after the Retry-After of a ban is not banned, unless there were new strikes. */
export const banEndsWithRetryAfter: Find = (view) =>
  Array.from(view.byKey.keys()).flatMap((key) => {
    const banned = requestsOf(view, key).filter((request) => isBanned(request) && !view.mayBeLocal(request));
    return banned.flatMap((request) => {
      const before = banned.findLast(
        (other) => other.endMs + (numberIn(other, 'retry-after') ?? 0) * 1000 <= request.startMs,
      );
      if (before === undefined) return [];
      const lifts = view
        .changes('lift')
        .filter((lift) => lift.key === key && lift.endMs > before.startMs - pausedMs);
      // A ban of an operator keeps the strikes that were there.
      const endMs = endOf(before, { resetSeconds: numberIn(before, 'retry-after') ?? 0 }).startMs;
      const overMs = Math.min(
        mayBeBannedByOperator(view, before) ? -Infinity : endMs,
        ...lifts.map(({ startMs }) => startMs),
      );
      const isNew = view.changes('ban').some(
        (ban) =>
          ban.key === key &&
          // Until then, a process may show the ban that this one replaces.
          view.calmAfter(before.gateway, ban.endMs) + rememberedMs > before.startMs &&
          ban.startMs < request.endMs,
      );
      const strikes = strikesBetween(view, key, overMs, request.endMs).length;
      const isEarned = isNew || strikes + 1 >= strikesNeeded(view, request);
      const message = `${key}: banned after Retry-After, with ${strikes} refused since`;
      return findingIf(!isEarned, message, before, request);
    });
  });

/** Shown beside a ban: nothing is left until its end. */
export const banShowsNothingLeft: Find = (view) =>
  view.history.requests
    .filter((request) => isBanned(request) && shownWindows(request).get('ban')?.remaining !== 0)
    .map((request) => finding(`${request.key}: a ban shows that something is left`, request));
