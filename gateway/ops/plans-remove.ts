import { Command } from 'commander';
import { removePlan } from '../operations/remove-plan.ts';
import { confirm, yesOption } from './confirm.ts';
import { asOption, jsonOption, type ChangeOptions } from './options.ts';
import { print, printJson } from './output.ts';
import { withChanges } from './redis-session.ts';
import { formatChanges } from './setting-changes.ts';

interface RemoveOptions extends ChangeOptions {
  yes?: true;
}

export function plansRemoveCommand(): Command {
  return new Command('remove')
    .description('remove a plan that no valid key is on')
    .argument('<name>')
    .addOption(yesOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (name: string, { yes, as, json }: RemoveOptions) => {
      const removal = await withChanges(as, (session) =>
        removePlan(session, name, () => confirm(`Remove the plan ${name}?`, yes)),
      );
      if (json) return printJson({ name, before: removal.before, after: null });
      await print(formatChanges({ changes: [removal], unlisted: [] }));
    });
}
