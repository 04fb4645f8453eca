import { Command } from 'commander';
import { describeLimits } from '../limits/limits.ts';
import { planFields } from '../limits/shadow-limits.ts';
import { countPlanCustomers } from '../operations/plan-customers.ts';
import { lacksLimits, readPlans, type ListedPlan } from '../operations/plans.ts';
import { anonymousPlan } from '../plans/plan-settings.ts';
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

/** A plan with the number of customers on it; undefined for the limit of an address. */
type CountedPlan = ListedPlan & { customers?: number };

export function plansListCommand(): Command {
  const command = new Command('list').description(
    'all plans; enterprise customers have their own limits, anonymous is the limit of an address',
  );
  return addListOptions(command).action(async (options: ListOptions) => {
    const format = outputFormat(options);
    const { plans, gateways } = await withRedis(async (session) => {
      const [listed, customers] = await Promise.all([readPlans(session), countPlanCustomers(session.redis)]);
      return { ...listed, plans: listed.plans.map((plan) => withCustomers(plan, customers)) };
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

function withCustomers(plan: ListedPlan, customers: ReadonlyMap<string, number>): CountedPlan {
  return plan.name === anonymousPlan ? plan : { ...plan, customers: customers.get(plan.name) ?? 0 };
}

function layoutOf(plans: readonly CountedPlan[], gateways: number): ListLayout<CountedPlan> {
  // Limits that a plan need not have, if any has them.
  const shown = planFields.filter((field) => plans.some((plan) => plan[field] !== undefined));
  const differ = plans.some(({ enforced }) => enforced !== undefined);
  return {
    headings: [
      'PLAN',
      ...shown.map((field) => field.replace(/(?=[A-Z])/, ' ').toUpperCase()),
      'CUSTOMERS',
      'GATEWAYS',
      ...(differ ? ['ENFORCED BY OTHER GATEWAYS'] : []),
    ],
    row: (plan) => [
      plan.name,
      ...shown.map((field) => plan[field]),
      plan.customers,
      `${plan.gateways} of ${gateways}`,
      ...(differ ? [describeEnforced(plan)] : []),
    ],
    csv: {
      ...fieldColumns<CountedPlan>('name', ...planFields, 'gateways', 'customers'),
      enforced: describeEnforced,
    },
  };
}

function describeEnforced({ enforced = [] }: ListedPlan): string {
  return enforced.map(({ gateways, ...limits }) => `${describeLimits(limits)} (${gateways})`).join('; ');
}
