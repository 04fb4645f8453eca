import { Command } from 'commander';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { createPlanTrials, type PlanOnTrial, type PlanTrialChange } from '../operations/plan-trial.ts';
import { refusedByTrial, reportPlanTrial, type PlanTrialReport } from '../operations/trial-report.ts';
import { listedKeys } from './listed-keys.ts';
import { countArgument } from './options.ts';
import { printError, printFields, printJson, printTable } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';
import {
  addTrialOptions,
  countFields,
  describeChange,
  describeLimits,
  describeShare,
  isoTime,
  limitsView,
  refusedShare,
  requestedChange,
  type TrialOptions,
} from './trial-options.ts';

interface PlansTrialOptions extends TrialOptions {
  count: number;
}

export function plansTrialCommand(): Command {
  const command = new Command('trial')
    .description('limits on trial of a plan: what they would refuse is counted, and nothing is refused')
    .argument('<name>', 'name of the plan');
  return addTrialOptions(command)
    .option('--count <n>', 'maximum number of keys to show', countArgument(10_000), 10)
    .action(async (name: string, options: PlansTrialOptions) => {
      const change = requestedChange(name, options);
      if (change === undefined) return showTrial(name, options);
      const changed = await withChanges(options.as, (session) => change(createPlanTrials(session)));
      printChange(changed, options.json);
    });
}

async function showTrial(name: string, { count, json }: PlansTrialOptions): Promise<void> {
  const { plan, report } = await withRedis(async (session) => {
    const plan = await createPlanTrials(session).show(name);
    const { limits, trial } = plan;
    if (trial === undefined) return { plan, report: undefined };
    const keys = listedKeys(createApiKeyStore(session));
    return {
      plan,
      report: await reportPlanTrial({ redis: session.redis, keys, plan: name, limits, trial, count }),
    };
  });
  for (const issue of plan.issues) printError(`warning: gw:plan:${name}: ${issue}`);
  if (json) printJson({ ...planView(plan), ...(report === undefined ? {} : reportView(report)) });
  else printReport(plan, report);
}

function planView({ name, limits, trial }: PlanOnTrial) {
  return {
    plan: name,
    enforced: limits,
    trial: trial === undefined ? null : limitsView(trial),
    since: trial === undefined ? null : isoTime(trial.since),
  };
}

function reportView(report: PlanTrialReport) {
  const { hardestHit, ...counts } = report;
  return { ...counts, refused: refusedByTrial(report), refusedShare: refusedShare(report), hardestHit };
}

function printReport({ name, limits, trial }: PlanOnTrial, report: PlanTrialReport | undefined): void {
  printFields({
    plan: name,
    enforced: describeLimits(limits),
    trial: describeLimits(trial),
    since: trial && isoTime(trial.since),
    ...(report && {
      keys: `${report.keys} on trial, ${report.activeKeys} with requests, ${report.refusedKeys} that would be refused some`,
      ...countFields(report),
    }),
  });
  if (report === undefined || report.hardestHit.length === 0) return;
  process.stdout.write('\n');
  printTable(
    ['ID', 'NAME', 'REQUESTS', 'WOULD REFUSE', 'SHARE', 'BY MINUTE', 'BY DAY'],
    report.hardestHit.map((key) => [
      key.id,
      key.name,
      key.requests,
      refusedByTrial(key),
      describeShare(key),
      key.refusedMinute,
      key.refusedDay,
    ]),
  );
}

function printChange({ before, after }: PlanTrialChange, json: true | undefined): void {
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
