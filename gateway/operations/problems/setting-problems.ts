import { describeValues } from '../../limits/setting-fields.ts';
import { settingPage } from '../setting-page.ts';
import type { LiveFacts } from './live-facts.ts';
import { alerts, runbook, type Problem } from './problem.ts';

/** A change is in force everywhere within a second. */
export const disagreementMs = 5000;

export function findSettingProblems({ nowMs, fleet, redis, disagreeingSince }: LiveFacts): Problem[] {
  if (!redis.available) return [];
  const missing = fleet.invalidSettings.filter(isMissing);
  const shown =
    missing.length > 1
      ? fleet.invalidSettings.filter((setting) => !isMissing(setting))
      : fleet.invalidSettings;
  const invalid = shown.map(({ key, issues, stored, processes, withoutValues }): Problem => ({
    id: `invalid-setting ${key}`,
    severity: withoutValues > 0 ? 'critical' : 'warning',
    title: `The setting ${settingName(key)} in Redis is invalid`,
    detail: `${sentences(issues, stored)} ${reportedBy(processes, withoutValues)}`.trim(),
    advice: 'Set the value again. The audit log says who changed it last; nothing there means redis-cli.',
    link: settingPage(key) ?? alerts('GatewayInvalidSettings'),
  }));
  const disagreements = fleet.disagreements
    .filter(({ key }) => nowMs - (disagreeingSince.get(key) ?? nowMs) > disagreementMs)
    .map(({ key, values }): Problem => ({
      id: `disagreement ${key}`,
      severity: 'warning',
      title: `Gateways enforce different values of ${key}`,
      detail: `${values
        .map(
          ({ fields, processes }) =>
            `${processes} ${processes === 1 ? 'process has' : 'processes have'} ${describeValues(fields)}`,
        )
        .join('; ')}.`,
      advice: 'Set the value again, so that all take it over. If one differs for long, restart it.',
      link: settingPage(key) ?? alerts('GatewayInvalidSettings'),
    }));
  return [...invalid, ...missingSettings(missing), ...disagreements];
}

/** A record of a key is shown by itself. */
const isMissing = ({ key, stored, issues }: LiveFacts['fleet']['invalidSettings'][number]) =>
  settingPage(key) !== undefined &&
  Object.keys(stored).length === 0 &&
  issues.every((issue) => issue.endsWith(' is missing'));

/** Several at once were not removed one by one: Redis has lost them. */
function* missingSettings(missing: readonly { key: string }[]): Iterable<Problem> {
  if (missing.length < 2) return;
  yield {
    id: 'missing-settings',
    severity: 'warning',
    title: 'Redis lacks settings',
    detail: `There is nothing in ${missing.map(({ key }) => key).join(', ')}. Gateways that run keep the last valid values.`,
    advice:
      'If Redis has lost its data, restore plans and policies as the runbook says, before a gateway restarts.',
    link: runbook('Redis came back empty'),
  };
}

function reportedBy(processes: number, withoutValues: number): string {
  if (processes === 0) return '';
  const report = `${processes} gateway ${processes === 1 ? 'process reports' : 'processes report'} it.`;
  return withoutValues === 0
    ? `${report} The last valid values stay in force.`
    : `${report} Of these, ${withoutValues} ${withoutValues === 1 ? 'has' : 'have'} no values: API keys that need them get 503.`;
}

/** Names the stored value of each field that is invalid. */
function sentences(issues: readonly string[], stored: Record<string, string>): string {
  return issues
    .map((issue) => {
      const value = stored[issue.split(' ', 1)[0] ?? ''];
      return value === undefined ? `${issue}.` : `${issue}; it is "${value.slice(0, maxValueLength)}".`;
    })
    .join(' ');
}

const maxValueLength = 60;

/** The hash of an API key identifies it, but says nothing to people. */
const settingName = (key: string) => key.replace(/:[\da-f]{64}$/, ':…');
