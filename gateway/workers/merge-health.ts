import type { Health } from '../admin/admin-app.ts';
import type { TargetState } from '../upstream/target.ts';

/** Best first. */
const states: readonly TargetState[] = ['ready', 'unknown', 'not_ready', 'away'];

/** The worst that any worker says; unavailable where there is none to ask. */
export function mergeHealth(
  healths: readonly Health[],
): Pick<Health, 'redis' | 'upstreams' | 'unreportedRequests'> {
  const upstreams: Record<string, TargetState> = {};
  for (const [origin, state] of healths.flatMap((health) => Object.entries(health.upstreams))) {
    if (states.indexOf(state) >= states.indexOf(upstreams[origin] ?? 'ready')) upstreams[origin] = state;
  }
  return {
    redis: healths.length > 0 && healths.every(({ redis }) => redis === 'ok') ? 'ok' : 'unavailable',
    upstreams,
    unreportedRequests: healths.reduce((sum, { unreportedRequests }) => sum + unreportedRequests, 0),
  };
}
