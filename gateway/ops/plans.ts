import { Command, InvalidArgumentError } from 'commander';
import { doubtInWords, knownIn, maxLimit, parseLimit } from '../limits/limits.ts';
import { byPlanField, type ByPlanField } from '../limits/shadow-limits.ts';
import { eachExactly, windowNames } from '../limits/windows.ts';
import { previewPlan, setPlan, type PlanChange } from '../operations/plans.ts';
import { removePlan } from '../operations/remove-plan.ts';
import { changing } from './changing.ts';
import { confirm, yesOption, type YesOption } from './confirm.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { print, printJson, printWarning } from './output.ts';
import { previewCustomers, printPlanChange } from './plan-change.ts';
import { plansApplyCommand, plansDiffCommand, plansExportCommand } from './plans-file.ts';
import { plansListCommand } from './plans-list.ts';
import { withChanges, withRedis } from './redis-session.ts';
import { formatChanges } from './setting-changes.ts';

export function plansCommand(): Command {
  return new Command('plans')
    .description('limits of the plans; changes are in force on all gateways within a second')
    .addCommand(plansListCommand())
    .addCommand(setCommand())
    .addCommand(plansRemoveCommand())
    .addCommand(plansExportCommand())
    .addCommand(plansDiffCommand())
    .addCommand(plansApplyCommand());
}

interface SetOptions extends ChangeOptions, ByPlanField<number | 'none'> {
  create?: boolean;
  dryRun?: true;
  yes?: true;
}

function setCommand(): Command {
  const command = new Command('set')
    .description('change limits of a plan; with --create, make a new one')
    .argument('<name>');
  for (const name of windowNames) {
    command.option(`--${name} <n>`, `limit of requests ${eachExactly(name)}, or "none"`, limitOrNone);
  }
  for (const name of windowNames) {
    const description = `limit of requests ${eachExactly(name)} that is counted and not enforced, or "none"`;
    command.option(`--shadow-${name} <n>`, description, limitOrNone);
  }
  return command
    .option('--create', 'make the plan if it does not exist; needs at least one limit')
    .option(
      '--dry-run',
      'change nothing; show how many customers the plan has, and which of the busiest are above these limits',
    )
    .option('--yes', 'do not ask whether a limit is meant to be less than that of a shorter window')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { create = false, dryRun, yes, as, json, ...options }: SetOptions) => {
      const limits = byPlanField((field) => (typeof options[field] === 'string' ? null : options[field]));
      if (dryRun) {
        const { change, preview } = await withRedis(async (session) => {
          const wanted = await previewPlan(session, name, limits, create);
          return { change: wanted, preview: await previewCustomers(session, wanted) };
        });
        const question = questionOf(change);
        if (question !== undefined) printWarning(question);
        return printPlanChange(change, json, preview);
      }
      const change = await withChanges(as, (session) =>
        setPlan(session, name, limits, create, async (wanted) => {
          const question = questionOf(wanted);
          if (question !== undefined) await confirm(`${question}. Set it all the same?`, yes);
        }),
      );
      await printPlanChange(change, json);
    });
}

/** Not null for none, which the parser of options takes for an empty text. */
export function limitOrNone(text: string): number | 'none' {
  const limit = text === 'none' ? text : parseLimit(text);
  if (limit === undefined) throw new InvalidArgumentError(`It must be a whole number from 1 to ${maxLimit}.`);
  return limit;
}

function questionOf({ after: { name, ...limits } }: PlanChange): string | undefined {
  return doubtInWords(name, knownIn(limits));
}

function plansRemoveCommand(): Command {
  const command = new Command('remove')
    .description('remove a plan that no customer is on')
    .argument('<name>')
    .addOption(yesOption());
  return changing(
    command,
    (name) => (session) => {
      const { yes } = command.opts<YesOption>();
      return removePlan(session, name, yes ? undefined : () => confirm(`Remove the plan ${name}?`, yes));
    },
    (removal, json) =>
      json
        ? printJson({ name: removal.target, before: removal.before, after: null })
        : print(formatChanges({ changes: [removal], unlisted: [] })),
  );
}
