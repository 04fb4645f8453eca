import { Command } from 'commander';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { createBanStore, type ActiveBan } from '../operations/ban-store.ts';
import type { Session } from '../operations/session.ts';
import {
  asOption,
  durationArgument,
  jsonOption,
  reasonArgument,
  type ChangeOptions,
  type JsonOption,
} from './options.ts';
import { printFields, printJson, printTable } from './output.ts';
import { withChanges, withRedis } from './redis-session.ts';

export function bansCommand(): Command {
  return new Command('bans')
    .description('bans of API keys')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(liftCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('active bans, soonest to expire first')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const bans = await withRedis((session) => banStore(session).list());
      if (json) return printJson(bans);
      printTable(
        ['ID', 'NAME', 'PLAN', 'ENDS', 'REASON'],
        bans.map(({ id, name, plan, endsAt, reason }) => [id, name, plan, endsAt, reason]),
      );
    });
}

interface AddOptions extends ChangeOptions {
  for: number;
  reason: string;
}

function addCommand(): Command {
  return new Command('add')
    .description('ban a key from its next request on')
    .argument('<id>')
    .requiredOption('--for <duration>', 'length, such as 15m, 24h or 7d', durationArgument)
    .requiredOption('--reason <text>', 'reason; the client reads it in its responses', reasonArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { for: durationMs, reason, as, json }: AddOptions) => {
      printBan(await withChanges(as, (session) => banStore(session).add(id, durationMs, reason)), json);
    });
}

function liftCommand(): Command {
  return new Command('lift')
    .description('end a ban within a second, and forget its strikes')
    .argument('<id>')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { as, json }: ChangeOptions) => {
      printBan(await withChanges(as, (session) => banStore(session).lift(id)), json);
    });
}

function banStore(session: Session) {
  return createBanStore({ ...session, keys: createApiKeyStore(session) });
}

function printBan(ban: ActiveBan, json: true | undefined): void {
  if (json) printJson(ban);
  else printFields({ ...ban });
}
