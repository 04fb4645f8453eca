import type { Health } from '../service.ts';
import type { TargetState } from '../upstream/target.ts';

/** Best first. */
const states: readonly TargetState[] = ['ready', 'unknown', 'not_ready', 'down'];

/** The worst state that any worker reports; unavailable if there is no worker. */
export function mergeHealth(
  healths: readonly Health[],
): Pick<Health, 'redis' | 'redisUnavailableSince' | 'upstreams' | 'unreportedRequests'> {
  const upstreams: Record<string, TargetState> = {};
  for (const [origin, state] of healths.flatMap((health) => Object.entries(health.upstreams))) {
    if (states.indexOf(state) >= states.indexOf(upstreams[origin] ?? 'ready')) upstreams[origin] = state;
  }
  const [since] = healths.flatMap(({ redisUnavailableSince }) => redisUnavailableSince ?? []).toSorted();
  return {
    ...(since === undefined ? {} : { redisUnavailableSince: since }),
    redis: healths.length > 0 && healths.every(({ redis }) => redis === 'ok') ? 'ok' : 'unavailable',
    upstreams,
    unreportedRequests: healths.reduce((sum, { unreportedRequests }) => sum + unreportedRequests, 0),
  };
}
