import { Command } from 'commander';
import { describeLimits } from '../limits/limits.ts';
import { createKeyTrials, type KeyOnTrial } from '../operations/key-trial.ts';
import { limitsView, recordView } from '../operations/key-view.ts';
import { idArgument, jsonOption, type JsonOption } from './options.ts';
import { printError, printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';
import { isoTime } from './trial-options.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('one key, with the trial that it is on')
    .argument('<id>', '', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const key = await withRedis((session) => createKeyTrials(session).show(id));
      const { id: _same, ...record } = recordView(key.record, Date.now());
      for (const issue of key.issues) printError(`warning: ${id}: ${issue}`);
      if (json) printJson({ id, ...record, trial: trialView(key) });
      else printFields({ id, ...record, trial: describeTrial(key) });
    });
}

function trialView({ trial }: KeyOnTrial) {
  return trial === undefined
    ? null
    : { ...limitsView(trial.limits), of: trial.from, since: isoTime(trial.limits.since) };
}

/** What it counts is shown by `keys trial`. */
function describeTrial({ trial }: KeyOnTrial): string | undefined {
  if (trial === undefined) return undefined;
  return `${describeLimits(trial.limits)}, since ${isoTime(trial.limits.since)} (trial of the ${trial.from})`;
}
