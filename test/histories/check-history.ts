import type { History, Violation } from './history.ts';
import {
  banEndsWithRetryAfter,
  bannedIsRefused,
  bansAreEarned,
  banShowsNothingLeft,
  expiredIsRefused,
  liftedIsFree,
  revokedIsRefused,
  suspendedIsRefused,
  validIsAccepted,
} from './promises/keys.ts';
import type { Find } from './promises/promise.ts';
import {
  limitWithoutRedis,
  neverOverLimit,
  placesDiffer,
  refusedOnlyWithoutRoom,
  remainingNeverRises,
  retryAfterSuffices,
  shownLimitIsInForce,
  twoWindowsAtMost,
  windowsAreFixed,
} from './promises/quotas.ts';
import {
  errorsHaveACause,
  forwardedOnce,
  headersAgree,
  knownKeysAreServed,
  onlyDocumented,
  outagesEnd,
} from './promises/responses.ts';
import { useIsRecorded } from './promises/use.ts';
import { createView } from './view.ts';

export interface Promised {
  name: string;
  /** Where the documents say so. */
  clause: string;
  find: Find;
}

export const promises: readonly Promised[] = [
  { name: 'never over the limit', clause: 'specification 8.4.1; CLIENTS.md, Limits', find: neverOverLimit },
  {
    name: 'a place for each request',
    clause: 'CLIENTS.md, Limits: a request counts in all windows or in none',
    find: placesDiffer,
  },
  {
    name: 'fixed windows',
    clause: 'CLIENTS.md, Limits: a fixed window of 60 seconds',
    find: windowsAreFixed,
  },
  {
    name: 'two windows in a minute at most',
    clause: 'CLIENTS.md, Limits: a fixed window of 60 seconds',
    find: twoWindowsAtMost,
  },
  {
    name: 'limit in force',
    clause: 'specification 8.3; OPERATE.md: in force within a second',
    find: shownLimitIsInForce,
  },
  {
    name: 'refused only without room',
    clause: 'specification 8.4.1; CLIENTS.md, Limits',
    find: refusedOnlyWithoutRoom,
  },
  { name: 'remaining never rises', clause: 'specification 8.3', find: remainingNeverRises },
  { name: 'Retry-After suffices', clause: 'specification 7 and 8.4.2', find: retryAfterSuffices },
  { name: 'the limit without Redis', clause: 'OPERATE.md, When something fails', find: limitWithoutRedis },
  { name: 'revoked is refused', clause: 'guide.md, Errors; OPERATE.md', find: revokedIsRefused },
  { name: 'expired is refused', clause: 'guide.md, Errors', find: expiredIsRefused },
  { name: 'suspended is refused', clause: 'guide.md, Errors; OPERATE.md', find: suspendedIsRefused },
  { name: 'valid is accepted', clause: 'specification 5.2', find: validIsAccepted },
  {
    name: 'banned is refused',
    clause: 'CLIENTS.md, Limits: during a ban every request gets 429',
    find: bannedIsRefused,
  },
  { name: 'bans are earned', clause: 'CLIENTS.md, Limits; specification 8.4.3', find: bansAreEarned },
  { name: 'lifted is free', clause: 'OPERATE.md: bans are in force within a second', find: liftedIsFree },
  {
    name: 'a ban ends with Retry-After',
    clause: 'CLIENTS.md, Limits; specification 8.4.2',
    find: banEndsWithRetryAfter,
  },
  { name: 'a ban leaves nothing', clause: 'CLIENTS.md, Limits', find: banShowsNothingLeft },
  { name: 'documented responses', clause: 'guide.md, Errors; specification 7', find: onlyDocumented },
  { name: 'headers agree', clause: 'specification 8.3; CLIENTS.md, Limits', find: headersAgree },
  { name: 'forwarded once', clause: 'CLIENTS.md, Retries without duplicates', find: forwardedOnce },
  { name: 'known keys are served', clause: 'OPERATE.md, When something fails', find: knownKeysAreServed },
  { name: 'errors have a cause', clause: 'OPERATE.md, When something fails', find: errorsHaveACause },
  { name: 'outages end', clause: 'RUNBOOK.md: normal within 2 s', find: outagesEnd },
  {
    name: 'use is recorded',
    clause: 'CLIENTS.md, Limits; OPERATE.md, When something fails',
    find: useIsRecorded,
  },
];

/** Finds what contradicts the promises of the documents, for whatever order concurrent requests were decided in. */
export function checkHistory(history: History): Violation[] {
  const view = createView(history);
  return promises.flatMap(({ name, find }) =>
    find(view).map(({ message, requests }) => ({
      promise: name,
      message,
      requests: requests.map(({ id }) => id),
    })),
  );
}
