import { Command } from 'commander';
import { previewPlanUndo, undoPlanChange } from '../operations/plan-undo.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { effectOf, printPlanChange } from './plan-change.ts';
import { withChanges, withRedis } from './redis-session.ts';

interface UndoOptions extends ChangeOptions {
  dryRun?: true;
}

/** Nothing is asked, since the undo can be undone by the same command. */
export function plansUndoCommand(): Command {
  return new Command('undo')
    .description(
      'set the limits back that a plan had before its last change, also one of another operator; again redoes it',
    )
    .argument('<name>')
    .option(
      '--dry-run',
      'change nothing; name the keys that are over those limits now, or were on the recorded days',
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { dryRun, as, json }: UndoOptions) => {
      if (dryRun) {
        const { undo, effect } = await withRedis(async (session) => {
          const preview = await previewPlanUndo(session, name);
          return { undo: preview, effect: await effectOf(session, preview) };
        });
        return printPlanChange(undo, json, effect);
      }
      await printPlanChange(await withChanges(as, (session) => undoPlanChange(session, name)), json);
    });
}
