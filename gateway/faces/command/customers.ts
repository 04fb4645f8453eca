import { Command } from 'commander';
import { readCustomerDetail } from '../../control/customers/find-customers.ts';
import type { KeyRow } from '../../control/keys/key-view.ts';
import { fieldLayout, printList } from './list-output.ts';
import { nounCommand } from './operation-command.ts';
import { jsonOption, targetArgument, type JsonOption } from './options.ts';
import { print, printFields, printJson } from './output.ts';
import { withRedis } from './redis-session.ts';
import { windowTexts } from './use-text.ts';

export const customersCommand = (): Command =>
  nounCommand(
    'customers',
    'customers, whose API keys share a plan, limits and what is used of them',
    showCommand(),
  );

const keysLayout = fieldLayout<KeyRow>({
  ID: 'id',
  KEY: 'hint',
  NAME: 'name',
  STATE: 'state',
  CREATED: 'createdAt',
  EXPIRES: 'expiresAt',
});

function showCommand(): Command {
  return new Command('show')
    .description('one customer, with what it uses of its limits now, and its keys')
    .argument('<customer>', '', targetArgument('customer'))
    .addOption(jsonOption())
    .action(async (id: string, { json }: JsonOption) => {
      const detail = await withRedis((session) => readCustomerDetail(session, id));
      if (json) return printJson(detail);
      const { items, limits: _limits, windows, now: _now, next, ...view } = detail;
      // In place of its own limits, which the windows show.
      printFields({ ...view, ...windowTexts(windows), next: next.message });
      if (items.length === 0) return;
      await print('');
      await printList('table', keysLayout, items);
    });
}
