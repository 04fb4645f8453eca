import { Command } from 'commander';
import { recordView } from '../operations/key-view.ts';
import { showStoredKey } from '../operations/stored-keys.ts';
import { readKeyUse, readRefusedUse, type KeyUse, type RefusedUse } from '../quota/key-use.ts';
import { fieldLayout, printList } from './list-output.ts';
import { idArgument, jsonOption, type JsonOption } from './options.ts';
import { print, printFields, printJson } from './output.ts';
import { redisNow, withRedis } from './redis-session.ts';

export function keysShowCommand(): Command {
  return new Command('show')
    .description('one key, and its use after its end')
    .argument('<id>', '', idArgument)
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const { record, use, refusedUse } = await withRedis(async (session) => {
        const { place, record } = await showStoredKey(session.redis, id);
        const [use, refusedUse] = await Promise.all([
          readKeyUse(session.redis, place),
          readRefusedUse(session.redis, place),
        ]);
        return { record, use, refusedUse };
      });
      const view = recordView(record, redisNow());
      if (json) {
        const afterEnd = refusedUse.length === 0 ? {} : { refusedUse };
        return printJson({ ...view, use, ...afterEnd });
      }
      printFields({ ...view, lastUsed: use?.addresses[0]?.to });
      if (use !== null) {
        await print('');
        await printList('table', useLayout, use.addresses);
      }
      if (refusedUse.length === 0) return;
      await print('');
      await printList('table', refusedUseLayout, refusedUse);
    });
}

const times = { FIRST: 'from', LAST: 'to', REQUESTS: 'requests' } as const;
const useLayout = fieldLayout<KeyUse['addresses'][number]>({
  'USED FROM': 'address',
  ...times,
  BY: 'agent',
  GATEWAY: 'gateway',
});
const refusedUseLayout = fieldLayout<RefusedUse>({ 'USED AFTER ITS END FROM': 'address', ...times });
