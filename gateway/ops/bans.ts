import { Command } from 'commander';
import { addBan, liftBan, listBans, type ActiveBan } from '../operations/bans.ts';
import { changing } from './changing.ts';
import { fieldLayout, listing } from './list-output.ts';
import { durationArgument, idArgument, reasonArgument } from './options.ts';
import { lengthAndReason } from './usage-error.ts';

export function bansCommand(): Command {
  return new Command('bans')
    .description('bans of API keys')
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(liftCommand());
}

const layout = fieldLayout<ActiveBan>({
  ID: 'id',
  NAME: 'name',
  PLAN: 'plan',
  ENDS: 'endsAt',
  REASON: 'reason',
});

function listCommand(): Command {
  const command = new Command('list').description('active bans, soonest to expire first');
  return listing(command, layout, listBans);
}

function addCommand(): Command {
  const command = new Command('add')
    .description('ban a key from its next request on')
    .argument('<id>', '', idArgument)
    .option('--for <duration>', 'length, such as 15m, 12h or 30d', durationArgument())
    .option('--reason <text>', 'reason; the client reads it in its responses', reasonArgument);
  return changing(command, (id) => {
    const { durationMs, reason } = lengthAndReason(command);
    return (session) => addBan(session, id, durationMs, reason);
  });
}

function liftCommand(): Command {
  const command = new Command('lift')
    .description('end a ban within a second, and forget its strikes')
    .argument('<id>', '', idArgument);
  return changing(command, (id) => (session) => liftBan(session, id));
}
