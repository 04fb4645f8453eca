import { Command } from 'commander';
import { recordView } from '../operations/key-view.ts';
import { showStoredKey } from '../operations/stored-keys.ts';
import { readKeyUse } from '../quota/key-use.ts';
import { idArgument, jsonOption, type JsonOption } from './options.ts';
import { printFields, printJson } from './output.ts';
import { redisNow, withRedis } from './redis-session.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('one key, with its last use')
    .argument('<id>', '', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const { record, use } = await withRedis(async (session) => {
        const { place, record } = await showStoredKey(session.redis, id);
        return { record, use: await readKeyUse(session, place) };
      });
      const view = recordView(record, redisNow());
      if (json) return printJson({ ...view, use });
      printFields({ ...view, ...use });
    });
}
