import { Command } from 'commander';
import { describeLimits } from '../limits/limits.ts';
import { createKeyTrials, type KeyOnTrial } from '../operations/key-trial.ts';
import { limitsView, recordView } from '../operations/key-view.ts';
import { showStoredKey } from '../operations/stored-keys.ts';
import { readKeyUse, readRefusedUse, type KeyUse, type RefusedUse } from '../quota/key-use.ts';
import { keyFields } from './key-store.ts';
import { onePage, printList, type ListLayout } from './list-output.ts';
import { idArgument, jsonOption, type JsonOption } from './options.ts';
import { print, printError, printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';
import { isoTime, trialOwner } from './trial-options.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('one key, with the trial that it is on, and its use after its end')
    .argument('<id>', '', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const { key, record, use, refusedUse } = await withRedis(async (session) => {
        const { place, record } = await showStoredKey(session.redis, id);
        const key = await createKeyTrials(session).show(id);
        const [use, refusedUse] = await Promise.all([
          readKeyUse(session.redis, place),
          readRefusedUse(session.redis, place),
        ]);
        return { key, record, use, refusedUse };
      });
      const { id: _same, ...view } = recordView(record, Date.now());
      for (const issue of key.issues) printError(`warning: ${id}: ${issue}`);
      if (json) {
        const afterEnd = refusedUse.length === 0 ? {} : { refusedUse };
        return printJson({ id, ...view, trial: trialView(key), use, ...afterEnd });
      }
      printFields({ id, ...keyFields(view), trial: describeTrial(key), lastUsed: use?.addresses[0]?.to });
      if (use !== null) {
        await print('');
        await printList('table', useLayout, onePage(use.addresses));
      }
      if (refusedUse.length === 0) return;
      await print('');
      await printList('table', refusedUseLayout, onePage(refusedUse));
    });
}

const useLayout: ListLayout<KeyUse['addresses'][number]> = {
  headings: ['USED FROM', 'FIRST', 'LAST', 'REQUESTS', 'BY', 'GATEWAY'],
  row: ({ address, from, to, requests, agent, gateway }) => [address, from, to, requests, agent, gateway],
  csv: {},
};

const refusedUseLayout: ListLayout<RefusedUse> = {
  headings: ['USED AFTER ITS END FROM', 'FIRST', 'LAST', 'REQUESTS'],
  row: ({ address, from, to, requests }) => [address, from, to, requests],
  csv: {},
};

function trialView({ trial }: KeyOnTrial) {
  return trial === undefined
    ? null
    : { ...limitsView(trial.limits), of: trial.from, since: isoTime(trial.limits.since) };
}

/** What it counts is shown by `keys trial`. */
function describeTrial({ trial }: KeyOnTrial): string | undefined {
  if (trial === undefined) return undefined;
  return `${describeLimits(trial.limits)}, since ${isoTime(trial.limits.since)} (trial of the ${trialOwner(trial.from)})`;
}
