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
      'set the limits back that a plan had before its last change, whoever made it; again redoes it',
    )
    .argument('<name>')
    .option('--dry-run', 'change nothing; show the number of keys that are over those limits now')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { dryRun, as, json }: UndoOptions) => {
      if (dryRun) {
        const { preview, impact } = await withRedis(async (session) => {
          const undo = await previewPlanUndo(session, name);
          return { preview: undo, impact: await impactOf(session, undo) };
        });
        return printPlanChange(preview, json, { undone: preview.undone, impact });
      }
      const change = await withChanges(as, (session) => undoPlanChange(session, name));
      await printPlanChange(change, json, { undone: change.undone });
    });
}
