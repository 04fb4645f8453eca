import { Command } from 'commander';
import { describeLimits } from '../limits/limits.ts';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import {
  applyPlanTrial,
  showPlanTrial,
  startPlanTrial,
  stopPlanTrial,
  type PlanOnTrial,
  type PlanTrialChange,
} from '../operations/plan-trial.ts';
import {
  refusedByTrial,
  reportPlanTrial,
  withRefused,
  type PlanTrialReport,
} from '../operations/trial-report.ts';
import {
  fieldColumns,
  outputFormat,
  outputOption,
  printList,
  type ListLayout,
  type OutputFormat,
} from './list-output.ts';
import { listedKeys } from './listed-keys.ts';
import { countArgument } from './options.ts';
import { print, printError, printFields, printJson } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import {
  addTrialOptions,
  countsText,
  describeChange,
  describeShare,
  isoTime,
  requestedChange,
  shownTrial,
  type TrialOptions,
} from './trial-options.ts';

interface PlansTrialOptions extends TrialOptions {
  count: number;
  output?: OutputFormat;
}

export function plansTrialCommand(): Command {
  const command = new Command('trial')
    .description('limits on trial of a plan: what they would refuse is counted, and nothing is refused')
    .argument('<name>', 'name of the plan');
  return addTrialOptions(command)
    .option('--count <n>', 'maximum number of customers to show', countArgument(10_000), 10)
    .addOption(outputOption('format of the report: table, json, or csv with the customers hit hardest'))
    .action(async (name: string, options: PlansTrialOptions) => {
      const format = outputFormat(options);
      const trials = { start: startPlanTrial, stop: stopPlanTrial, apply: applyPlanTrial };
      const change = requestedChange(trials, name, options);
      if (change === undefined) return showTrial(name, options.count, format);
      if (format === 'csv')
        throw new InvalidOperation('--output csv prints the customers hit hardest: give no change with it');
      printChange(await withChanges(options.as, change), format === 'json');
    });
}

async function showTrial(name: string, count: number, format: OutputFormat): Promise<void> {
  const { plan, report } = await withRedis(async (session) => {
    const plan = await showPlanTrial(session, name);
    const { limits, trial } = plan;
    const options = { redis: session.redis, keys: listedKeys(session), plan: name, limits, count };
    return { plan, report: trial && (await reportPlanTrial({ ...options, trial })) };
  });
  for (const issue of plan.issues) printError(`warning: gw:plan:${name}: ${issue}`);
  if (format === 'json') {
    return printJson({ ...planView(plan), ...(report && withRefused(report)) });
  }
  if (format === 'csv') return printList(format, layout, report?.hardestHit ?? []);
  await printReport(plan, report);
}

function planView({ name, limits, trial }: PlanOnTrial) {
  return { plan: name, enforced: limits, ...shownTrial(trial) };
}

const layout: ListLayout<PlanTrialReport['hardestHit'][number]> = {
  headings: ['ID', 'NAME', 'REQUESTS', 'WOULD REFUSE', 'SHARE', 'BY MINUTE', 'BY DAY'],
  row: (key) => [
    key.id,
    key.name,
    key.requests,
    refusedByTrial(key),
    describeShare(key),
    key.refusedMinute,
    key.refusedDay,
  ],
  csv: fieldColumns('id', 'name', 'requests', 'refusedMinute', 'refusedDay'),
};

async function printReport(
  { name, limits, trial }: PlanOnTrial,
  report: PlanTrialReport | undefined,
): Promise<void> {
  printFields({
    plan: name,
    enforced: describeLimits(limits),
    trial: describeLimits(trial),
    since: trial && isoTime(trial.since),
    ...(report && {
      keys: `${report.keys} on trial, ${report.activeKeys} with requests, ${report.refusedKeys} that would be refused some`,
      ...countsText(report),
    }),
  });
  if (report === undefined || report.hardestHit.length === 0) return;
  await print('\n');
  await printList('table', layout, report.hardestHit);
}

function printChange({ before, after }: PlanTrialChange, json: boolean): void {
  if (json) {
    const { plan, ...changed } = planView(after);
    const { plan: _same, ...previous } = planView(before);
    return printJson({ plan, before: previous, after: changed });
  }
  printFields({
    plan: after.name,
    enforced: describeChange(describeLimits(before.limits), describeLimits(after.limits)),
    trial: describeChange(describeLimits(before.trial), describeLimits(after.trial)),
    since: after.trial && isoTime(after.trial.since),
  });
}
