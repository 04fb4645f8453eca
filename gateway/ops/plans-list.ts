import { Command } from 'commander';
import { describeLimits } from '../limits/limits.ts';
import { planFields } from '../limits/shadow-limits.ts';
import { planImpacts } from '../operations/plan-impact.ts';
import { lacksLimits, readPlans, type ListedPlan } from '../operations/plans.ts';
import type { Session } from '../operations/session.ts';
import { anonymousPlan } from '../plans/plan-settings.ts';
import { countingKeys } from './counting-keys.ts';
import {
  addListOptions,
  fieldColumns,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { printError } from './output.ts';
import { withRedis } from './redis-session.ts';

interface PlansListOptions extends ListOptions {
  keys: boolean;
}

/** A plan with the number of valid keys on it; undefined if they were not counted, or no key can be on it. */
type CountedPlan = ListedPlan & { keys?: number };

export function plansListCommand(): Command {
  const command = new Command('list')
    .description('all plans; enterprise keys have their own limits, anonymous is the limit of an address')
    .option('--no-keys', 'do not count the valid keys on each plan, which takes seconds for 100,000 keys');
  return addListOptions(command).action(async ({ keys, ...options }: PlansListOptions) => {
    const format = outputFormat(options);
    const { plans, gateways } = await withRedis(async (session) => {
      const listed = await readPlans(session);
      return keys ? { ...listed, plans: await withKeys(session, listed.plans) } : listed;
    });
    await printList(format, layoutOf(plans, gateways), plans);
    const lacking = plans.filter(lacksLimits).map(({ name }) => name);
    if (lacking.length > 0) {
      printError(
        `warning: no valid limits are set for ${lacking.join(', ')}: running gateways keep what they enforce; if there ` +
          'are none, a gateway that starts uses the defaults, and sets those that were never set; see: ops plans set --help',
      );
    }
  });
}

async function withKeys(session: Session, plans: readonly ListedPlan[]): Promise<CountedPlan[]> {
  const impacts = await countingKeys(session, (options) => planImpacts(session, undefined, options));
  return plans.map((plan) =>
    plan.name === anonymousPlan ? plan : { ...plan, keys: impacts.get(plan.name)?.keys ?? 0 },
  );
}

function layoutOf(plans: readonly CountedPlan[], gateways: number): ListLayout<CountedPlan> {
  const counted = plans.some(({ keys }) => keys !== undefined);
  // Limits that a plan need not have, if any has them.
  const shown = planFields.filter((field) => plans.some((plan) => plan[field] !== undefined));
  const differ = plans.some(({ enforced }) => enforced !== undefined);
  return {
    headings: [
      'PLAN',
      ...shown.map((field) => field.replace(/(?=[A-Z])/, ' ').toUpperCase()),
      ...(counted ? ['KEYS'] : []),
      'GATEWAYS',
      ...(differ ? ['ENFORCED BY OTHER GATEWAYS'] : []),
    ],
    row: (plan) => [
      plan.name,
      ...shown.map((field) => plan[field]),
      ...(counted ? [plan.keys] : []),
      `${plan.gateways} of ${gateways}`,
      ...(differ ? [describeEnforced(plan)] : []),
    ],
    csv: {
      ...fieldColumns<CountedPlan>('name', ...planFields, 'gateways', 'keys'),
      enforced: describeEnforced,
    },
  };
}

function describeEnforced({ enforced = [] }: ListedPlan): string {
  return enforced.map(({ gateways, ...limits }) => `${describeLimits(limits)} (${gateways})`).join('; ');
}
