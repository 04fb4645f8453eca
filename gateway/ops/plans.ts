import { Command } from 'commander';
import { dayBelowMinute } from '../operations/day-below-minute.ts';
import { noImpact, planImpacts, type PlanImpact } from '../operations/plan-impact.ts';
import { createPlanStore, type PlanChange } from '../operations/plan-store.ts';
import type { Session } from '../operations/session.ts';
import { confirm } from './confirm.ts';
import { warnOfMissingKeys } from './missing-keys-warning.ts';
import { asOption, jsonOption, limitArgument, type ChangeOptions } from './options.ts';
import { print, printJson, printWarning } from './output.ts';
import { plansApplyCommand, plansDiffCommand, plansExportCommand } from './plans-file.ts';
import { plansListCommand } from './plans-list.ts';
import { plansRemoveCommand } from './plans-remove.ts';
import { plansTrialCommand } from './plans-trial.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { formatFields, type ChangedField } from './setting-changes.ts';

export function plansCommand(): Command {
  return new Command('plans')
    .description('limits of the plans; changes are in force on all gateways within a second')
    .addCommand(plansListCommand())
    .addCommand(setCommand())
    .addCommand(plansRemoveCommand())
    .addCommand(plansTrialCommand())
    .addCommand(plansExportCommand())
    .addCommand(plansDiffCommand())
    .addCommand(plansApplyCommand());
}

interface SetOptions extends ChangeOptions {
  minute?: number;
  day?: number;
  create?: boolean;
  dryRun?: true;
  yes?: true;
}

function setCommand(): Command {
  return new Command('set')
    .description('change one or both limits of a plan; with --create, make a new one')
    .argument('<name>')
    .option('--minute <n>', 'limit of requests a minute', limitArgument)
    .option('--day <n>', 'limit of requests a UTC day', limitArgument)
    .option('--create', 'make the plan if it does not exist; needs both limits')
    .option('--dry-run', 'change nothing; show the number of keys that are over these limits now')
    .option('--yes', 'do not ask whether a day limit is meant to be less than the minute limit')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { minute, day, create = false, dryRun, yes, as, json }: SetOptions) => {
      const limits = { ...(minute === undefined ? {} : { minute }), ...(day === undefined ? {} : { day }) };
      if (dryRun) {
        const { change, impact } = await withRedis(async (session) => {
          const preview = await createPlanStore(session).preview(name, limits, create);
          return { change: preview, impact: await impactOf(session, preview) };
        });
        const question = questionOf(change);
        if (question !== undefined) printWarning(question);
        return printChange(change, impact, json);
      }
      const change = await withChanges(as, (session) =>
        createPlanStore(session).set(name, limits, create, async (wanted) => {
          const question = questionOf(wanted);
          if (question !== undefined) await confirm(`${question}. Set it all the same?`, yes);
        }),
      );
      await printChange(change, undefined, json);
    });
}

function questionOf({ after: { name, minute, day } }: PlanChange): string | undefined {
  return minute === null || day === null ? undefined : dayBelowMinute(name, { minute, day });
}

/** No API key is on anonymous. */
async function impactOf(session: Session, { after: { name, minute, day } }: PlanChange): Promise<PlanImpact> {
  if (minute === null || day === null) return noImpact;
  const impacts = await planImpacts(session, new Map([[name, { minute, day }]]));
  await warnOfMissingKeys(session);
  return impacts.get(name) ?? noImpact;
}

async function printChange(
  { before, after }: PlanChange,
  impact: PlanImpact | undefined,
  json: true | undefined,
): Promise<void> {
  const isNew = before.minute === null && before.day === null;
  const previous = isNew ? null : { minute: before.minute, day: before.day };
  if (json) return printJson({ ...after, before: previous, ...impact });
  const fields: ChangedField[] = [
    ['name', after.name, after.name],
    ['minute', before.minute, after.minute],
    ['day', before.day, after.day],
    ...Object.entries(impact ?? {}).map(([name, keys]): ChangedField => [name, keys, keys]),
  ];
  return print(`${formatFields(fields).join('\n')}\n`);
}
