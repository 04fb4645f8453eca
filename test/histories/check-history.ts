import type { History, Violation } from './history.ts';
import * as keys from './promises/keys.ts';
import type { Find } from './promises/promise.ts';
import * as quotas from './promises/quotas.ts';
import * as responses from './promises/responses.ts';
import * as use from './promises/use.ts';
import { createView } from './view.ts';

/** By their names. A clause is where the documents say so. */
export const promises: Readonly<Record<string, readonly [clause: string, find: Find]>> = {
  'never over the limit': ['specification 8.4.1; CLIENTS.md, Limits', quotas.neverOverLimit],
  'a place for each request': [
    'CLIENTS.md, Limits: a request counts in all windows or in none',
    quotas.placesDiffer,
  ],
  'fixed windows': ['CLIENTS.md, Limits: a fixed window of 60 seconds', quotas.windowsAreFixed],
  'two windows in a minute at most': [
    'CLIENTS.md, Limits: a fixed window of 60 seconds',
    quotas.twoWindowsAtMost,
  ],
  'limit in force': ['specification 8.3; OPERATE.md: in force within a second', quotas.shownLimitIsInForce],
  'refused only without room': ['specification 8.4.1; CLIENTS.md, Limits', quotas.refusedOnlyWithoutRoom],
  'remaining never rises': ['specification 8.3', quotas.remainingNeverRises],
  'Retry-After suffices': ['specification 7 and 8.4.2', quotas.retryAfterSuffices],
  'the limit without Redis': ['OPERATE.md, When something fails', quotas.limitWithoutRedis],
  'revoked is refused': ['guide.md, Errors; OPERATE.md', keys.revokedIsRefused],
  'expired is refused': ['guide.md, Errors', keys.expiredIsRefused],
  'suspended is refused': ['guide.md, Errors; OPERATE.md', keys.suspendedIsRefused],
  'valid is accepted': ['specification 5.2', keys.validIsAccepted],
  'banned is refused': ['CLIENTS.md, Limits: during a ban every request gets 429', keys.bannedIsRefused],
  'bans are earned': ['CLIENTS.md, Limits; specification 8.4.3', keys.bansAreEarned],
  'lifted is free': ['OPERATE.md: bans are in force within a second', keys.liftedIsFree],
  'a ban ends with Retry-After': ['CLIENTS.md, Limits; specification 8.4.2', keys.banEndsWithRetryAfter],
  'a ban leaves nothing': ['CLIENTS.md, Limits', keys.banShowsNothingLeft],
  'documented responses': ['guide.md, Errors; specification 7', responses.onlyDocumented],
  'headers agree': ['specification 8.3; CLIENTS.md, Limits', responses.headersAgree],
  'forwarded once': ['CLIENTS.md, Retries without duplicates', responses.forwardedOnce],
  'known keys are served': ['OPERATE.md, When something fails', responses.knownKeysAreServed],
  'errors have a cause': ['OPERATE.md, When something fails', responses.errorsHaveACause],
  'outages end': ['RUNBOOK.md: normal within 2 s', responses.outagesEnd],
  'use is recorded': ['CLIENTS.md, Limits; OPERATE.md, When something fails', use.useIsRecorded],
};

/** Finds what contradicts the promises of the documents, for whatever order concurrent requests were decided in. */
export function checkHistory(history: History): Violation[] {
  const view = createView(history);
  return Object.entries(promises).flatMap(([promise, [, find]]) =>
    find(view).map(({ message, requests }) => ({
      promise,
      message,
      requests: requests.map(({ id }) => id),
    })),
  );
}
