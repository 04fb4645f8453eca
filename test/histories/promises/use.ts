import { counts, mayCount, type RecordedRequest } from '../history.ts';
import type { View } from '../view.ts';
import { findingIf, type Find } from './promise.ts';

/** Whether a request was with a process that was killed later, which may have lost what it had not reported. */
function mayBeLost({ history }: View, { gateway, startMs, endMs }: RecordedRequest): boolean {
  return history.lives.some(
    (life) => life.killed && life.gateway === gateway && startMs <= life.endMs && endMs >= life.startMs,
  );
}

/** Whether it was in flight when a process gave up on Redis: both may have counted it. */
const mayBeTwice = (view: View, request: RecordedRequest) =>
  view.mayBeLocal(request) && !view.isLocal(request);

/** At the end the record of use has what was served and refused. */
export const useIsRecorded: Find = (view) => {
  const { use } = view.history;
  if (use === undefined) return [];
  return Array.from(view.byOwner).flatMap(([owner, requests]) => {
    const found = use[owner] ?? { served: 0, refused: 0 };
    const local = (request: RecordedRequest) => view.mayBeLocal(request);
    const isLost = (request: RecordedRequest) => mayBeLost(view, request);
    const served = requests.filter(counts);
    const least = served.filter((request) => !(local(request) && isLost(request))).length;
    // Also one that Redis has counted and the process has refused.
    const twice = requests.filter(
      (request) => (mayCount(request) || request.status === 429) && mayBeTwice(view, request),
    );
    const most = requests.filter(mayCount).length + twice.length;
    const refused = requests.filter(({ status }) => status === 429);
    const leastRefused = refused.filter((request) => !isLost(request)).length;
    const mostRefused = refused.length + requests.filter(({ status }) => status === 0).length;
    return [
      outside(`${owner}: served`, found.served, least, most),
      outside(`${owner}: refused`, found.refused, leastRefused, mostRefused),
    ].flat();
  });
};

function outside(what: string, recorded: number, least: number, most: number) {
  const range = least === most ? least : `${least} to ${most}`;
  return findingIf(recorded < least || recorded > most, `${what} ${range}, recorded ${recorded}`);
}
