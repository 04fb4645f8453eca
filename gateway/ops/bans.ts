import { Command } from 'commander';
import { createApiKeyStore } from '../operations/api-key-store.ts';
import { createBanStore, type ActiveBan } from '../operations/ban-store.ts';
import {
  asOption,
  durationArgument,
  jsonOption,
  reasonArgument,
  type ChangeOptions,
  type JsonOption,
} from './options.ts';
import { writeFields, writeJson, writeTable } from './output.ts';
import { withChanges, withRedis, type Session } from './redis-connection.ts';

export function bansCommand(): Command {
  return new Command('bans')
    .description('keys that are refused for a while')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(liftCommand());
}

function listCommand(): Command {
  return new Command('list')
    .description('active bans, the one that ends first first')
    .addOption(jsonOption())
    .action(async ({ json }: JsonOption) => {
      const bans = await withRedis((session) => banStore(session).list());
      if (json) return writeJson(bans);
      writeTable(
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
    .requiredOption('--for <duration>', 'such as 15m, 24h or 7d', durationArgument)
    .requiredOption('--reason <text>', 'for other operators, not for the client', reasonArgument)
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { for: durationMs, reason, as, json }: AddOptions) => {
      writeBan(await withChanges(as, (session) => banStore(session).add(id, durationMs, reason)), json);
    });
}

function liftCommand(): Command {
  return new Command('lift')
    .description('end a ban within a second, and forget what led to it')
    .argument('<id>')
    .addOption(asOption())
    .addOption(jsonOption())
    .action(async (id: string, { as, json }: ChangeOptions) => {
      writeBan(await withChanges(as, (session) => banStore(session).lift(id)), json);
    });
}

function banStore(session: Session) {
  return createBanStore({ ...session, keys: createApiKeyStore(session) });
}

function writeBan(ban: ActiveBan, json: true | undefined): void {
  if (json) writeJson(ban);
  else writeFields({ ...ban });
}
