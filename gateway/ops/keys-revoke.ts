import { Command } from 'commander';
import { revokeKey } from '../operations/keys.ts';
import { showStoredKey } from '../operations/stored-keys.ts';
import { confirm, yesOption } from './confirm.ts';
import { printKey } from './key-output.ts';
import { asOption, idArgument, jsonOption, type ChangeOptions } from './options.ts';
import { printable } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

interface RevokeOptions extends ChangeOptions {
  yes?: true;
}

export function keysRevokeCommand(): Command {
  return new Command('revoke')
    .description('refuse a key for good, from its next request on')
    .argument('<id>', '', idArgument)
    .addOption(yesOption())
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { yes, as, json }: RevokeOptions) => {
      if (!yes) await confirmRevoke(id);
      printKey(await withChanges(as, (session) => revokeKey(session, id)), json);
    });
}

/** @throws InvalidOperation as confirm does, and if there is no such key */
async function confirmRevoke(id: string): Promise<void> {
  const { record } = await withRedis(({ redis }) => showStoredKey(redis, id));
  const { name, plan, revokedAt } = record;
  if (revokedAt !== undefined) return;
  const described = printable(JSON.stringify(name));
  await confirm(`Revoke ${id} (${described}, plan ${plan}) for good, from its next request on?`, undefined);
}
