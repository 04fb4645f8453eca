import { Command } from 'commander';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { planImpact, type PlanImpact } from '../operations/plan-impact.ts';
import { assertPlan, createPlanStore, lacksLimits, type ListedPlan } from '../operations/plan-store.ts';
import type { Limits } from '../plans/limits.ts';
import {
  fieldColumns,
  listOptions,
  onePage,
  outputFormat,
  printList,
  type ListLayout,
  type ListOptions,
} from './list-output.ts';
import { listedKeys } from './listed-keys.ts';
import { asOption, jsonOption, limitArgument, type ChangeOptions } from './options.ts';
import { printError, printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

export function plansCommand(): Command {
  return new Command('plans')
    .description('limits of the plans; changes are in force on all gateways within a second')
    .addCommand(listCommand())
    .addCommand(setCommand());
}

function listCommand(): Command {
  const [output, json] = listOptions();
  return new Command('list')
    .description('all plans; enterprise keys have their own limits, anonymous is the limit of an address')
    .addOption(output)
    .addOption(json)
    .action(async (options: ListOptions) => {
      const format = outputFormat(options);
      const rows = await withRedis((session) => createPlanStore(session).list());
      await printList(format, layoutOf(rows), onePage(rows));
      const lacking = rows.filter(lacksLimits).map(({ name }) => name);
      if (lacking.length > 0) {
        printError(
          `warning: no valid limits are set for ${lacking.join(', ')}: running gateways keep what they enforce; if there ` +
            'are none, a gateway that starts uses the defaults, and sets those that were never set; see: ops plans set --help',
        );
      }
    });
}

/** What gateways enforce is a column only if it is not what is stored. */
function layoutOf(rows: readonly ListedPlan[]): ListLayout<ListedPlan> {
  const differ = rows.some(({ enforced }) => enforced !== undefined);
  return {
    headings: ['PLAN', 'MINUTE', 'DAY', ...(differ ? ['ENFORCED BY GATEWAYS'] : [])],
    row: (plan) => [plan.name, plan.minute, plan.day, ...(differ ? [describeEnforced(plan)] : [])],
    csv: { ...fieldColumns<ListedPlan>('name', 'minute', 'day'), enforced: describeEnforced },
  };
}

function describeEnforced({ enforced = [] }: ListedPlan): string {
  return enforced.map(describeLimits).join(' or ');
}

function describeLimits({ minute, day }: Pick<ListedPlan, 'minute' | 'day'>): string {
  const limits = [minute === null ? '' : `${minute} a minute`, day === null ? '' : `${day} a day`];
  return limits.filter((limit) => limit !== '').join(', ');
}

interface SetOptions extends ChangeOptions {
  minute?: number;
  day?: number;
  create?: boolean;
  dryRun?: true;
}

function setCommand(): Command {
  return new Command('set')
    .description('change a plan; with --create, make a new one')
    .argument('<name>')
    .option('--minute <n>', 'limit of requests a minute', limitArgument)
    .option('--day <n>', 'limit of requests a UTC day', limitArgument)
    .option('--create', 'make the plan if it does not exist')
    .option('--dry-run', 'change nothing; show the number of keys that are over these limits now')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { minute, day, create = false, dryRun, as, json }: SetOptions) => {
      const limits = { ...(minute === undefined ? {} : { minute }), ...(day === undefined ? {} : { day }) };
      if (dryRun)
        return printResult({ name, minute, day, ...(await previewLimits(name, limits, create)) }, json);
      const row = await withChanges(as, (session) => createPlanStore(session).set(name, limits, create));
      printResult({ ...row }, json);
    });
}

async function previewLimits(name: string, limits: Partial<Limits>, create: boolean): Promise<PlanImpact> {
  return withRedis(async (session) => {
    assertPlan(name, limits);
    const { minute, day } = limits;
    // Only anonymous has no day limit, and it has no keys.
    if (minute === undefined || day === undefined) throw new InvalidOperation(`no API key is on ${name}`);
    if (!create) await createPlanStore(session).assertExists(name);
    return planImpact({
      redis: session.redis,
      keys: listedKeys(createApiKeyStore(session)),
      plan: name,
      limits: { minute, day },
      nowMs: session.now(),
    });
  });
}

function printResult(
  shown: Record<string, string | number | null | undefined>,
  json: true | undefined,
): void {
  if (json) printJson(shown);
  else printFields(shown);
}
