import { Command } from 'commander';
import { previewPlanUndo, undoPlanChange } from '../operations/plan-undo.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { impactOf, printPlanChange } from './plan-change.ts';
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
    .option('--dry-run', 'change nothing; show the number of keys that are over those limits now')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { dryRun, as, json }: UndoOptions) => {
      if (dryRun) {
        const { undo, impact } = await withRedis(async (session) => {
          const preview = await previewPlanUndo(session, name);
          return { undo: preview, impact: await impactOf(session, preview) };
        });
        return printPlanChange(undo, json, impact);
      }
      await printPlanChange(await withChanges(as, (session) => undoPlanChange(session, name)), json);
    });
}
