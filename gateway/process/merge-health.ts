import type { Health } from '../control/status/service.ts';
import type { TargetState } from '../upstream/target.ts';

/** Best first. */
const states: readonly TargetState[] = ['ready', 'unknown', 'not_ready', 'down'];

/** The worst state that any worker reports; unavailable if there is no worker. */
export function mergeHealth(
  healths: readonly Health[],
): Pick<Health, 'redis' | 'redisUnavailableSince' | 'upstreams' | 'services' | 'unreportedRequests'> {
  const names = new Set(healths.flatMap((health) => Object.keys(health.services)));
  const [since] = healths.flatMap(({ redisUnavailableSince }) => redisUnavailableSince ?? []).toSorted();
  return {
    ...(since === undefined ? {} : { redisUnavailableSince: since }),
    redis: healths.length > 0 && healths.every(({ redis }) => redis === 'ok') ? 'ok' : 'unavailable',
    upstreams: worstStates(healths.map(({ upstreams }) => upstreams)),
    services: Object.fromEntries(
      Array.from(names, (name) => [name, worstStates(healths.map(({ services }) => services[name] ?? {}))]),
    ),
    unreportedRequests: healths.reduce((sum, { unreportedRequests }) => sum + unreportedRequests, 0),
  };
}

function worstStates(seen: readonly Record<string, TargetState>[]): Record<string, TargetState> {
  const worst: Record<string, TargetState> = {};
  for (const [origin, state] of seen.flatMap((each) => Object.entries(each))) {
    if (states.indexOf(state) >= states.indexOf(worst[origin] ?? 'ready')) worst[origin] = state;
  }
  return worst;
}
