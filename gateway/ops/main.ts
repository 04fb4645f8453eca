import { Command, CommanderError } from 'commander';
import { ConfigError } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { StoreRefusal } from '../operations/invalid-operation.ts';
import { isConnectionLoss } from '../redis/redis-errors.ts';
import { auditCommand } from './audit.ts';
import { bansCommand } from './bans.ts';
import { keysCommand } from './keys.ts';
import { writeFault } from './output.ts';
import { plansCommand } from './plans.ts';
import { policyCommand } from './policy.ts';
import { tokensCommand } from './tokens.ts';
import { topCommand } from './top.ts';
import { usageCommand } from './usage.ts';

/*
 * npm run --silent ops -- …
 * Exit codes: 0 done; 2 wrong input, nothing changed; 1 anything else, such as Redis out of reach.
 */
const program = new Command('ops')
  .description(
    'Shows and changes API keys, plans, bans and tokens of running gateways, with nothing restarted.',
  )
  .addCommand(keysCommand())
  .addCommand(usageCommand())
  .addCommand(topCommand())
  .addCommand(bansCommand())
  .addCommand(plansCommand())
  .addCommand(policyCommand())
  .addCommand(auditCommand())
  .addCommand(tokensCommand())
  .showSuggestionAfterError(false)
  .addHelpText(
    'after',
    '\nUses REDIS_URL, or else the private Redis of the gateway that runs with the same DATA_DIR.\n' +
      'Exit codes: 0 done; 2 wrong input, nothing changed; 1 anything else.',
  );

for (const command of [program, ...descendants(program)]) {
  // Faults are written below, all in one form.
  command.exitOverride().configureOutput({ outputError: () => {} });
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** @returns the exit code */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // Help that was shown for want of a command speaks for itself.
    if (error.code !== 'commander.help') writeFault(error.message.replace(/^error: /, ''));
    return 2;
  }
  writeFault(faultOf(error));
  return error instanceof StoreRefusal ? 2 : 1;
}

function faultOf(error: unknown): string {
  if (error instanceof ConfigError) return error.faults.join('; ');
  if (isConnectionLoss(error)) {
    return 'Redis went away meanwhile; whether a change was made that was on its way is unknown, see: ops audit';
  }
  return messageOf(error);
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}
