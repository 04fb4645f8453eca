import { Command, CommanderError } from 'commander';
import { InvalidOperation } from '../operations/invalid-operation.ts';
import { MalformedReply } from '../redis/malformed-replies.ts';
import { isRedisConnectionLost } from '../redis/redis-errors.ts';
import { ConfigError } from '../runtime/environment.ts';
import { errorMessage } from '../runtime/error-message.ts';
import { readVersion } from '../runtime/version.ts';
import { auditCommand } from './audit.ts';
import { bansCommand } from './bans.ts';
import { completeCommand } from './complete.ts';
import { completionCommand } from './completion.ts';
import { consoleCommand } from './console.ts';
import { keysCommand } from './keys.ts';
import { printError } from './output.ts';
import { plansCommand } from './plans.ts';
import { policyCommand } from './policy.ts';
import { redisAclCommand } from './redis-acl.ts';
import { tokensCommand } from './tokens.ts';
import { topCommand } from './top.ts';
import { trafficCommand } from './traffic.ts';
import { describeUsageError } from './usage-error.ts';
import { usageCommand } from './usage.ts';

/*
 * npm run --silent ops -- …
 * Exit codes: 0 done; 2 invalid input, nothing changed; 3 changed, but not confirmed by all replicas of Redis; 1 anything
 * else, such as Redis unavailable.
 */
const program = new Command('ops')
  .description('Shows and changes API keys, plans, bans and tokens of running gateways.')
  // An option after the name of a command belongs to that command (usage.ts has some, and commands below it).
  .enablePositionalOptions()
  .addCommand(keysCommand())
  .addCommand(usageCommand())
  .addCommand(topCommand())
  .addCommand(trafficCommand())
  .addCommand(bansCommand())
  .addCommand(plansCommand())
  .addCommand(policyCommand())
  .addCommand(auditCommand())
  .addCommand(consoleCommand())
  .addCommand(tokensCommand())
  .addCommand(redisAclCommand())
  .addCommand(completionCommand())
  .addCommand(completeCommand(), { hidden: true })
  .version(readVersion(), '--version', 'print the version')
  .addHelpText(
    'after',
    '\nUses REDIS_URL or REDIS_URL_FILE, or else the private Redis of the gateway that runs with the same DATA_DIR.\n' +
      'Exit codes: 0 done; 2 invalid input, nothing changed; 3 changed, but not confirmed by all replicas of Redis;\n' +
      '1 anything else, such as Redis unavailable.',
  );

for (const command of [program, ...descendants(program)]) {
  // Errors are printed below, all in one form.
  command.exitOverride().configureOutput({ outputError: () => {} });
}

// ioredis warns there if the Redis user may not run INFO. Commands that need it say so themselves.
console.warn = () => {};

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** @returns the exit code */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // Help that is shown because there is no command needs no message.
    if (error.code !== 'commander.help') printError(describeUsageError(error));
    return 2;
  }
  printError(describeError(error));
  return error instanceof InvalidOperation ? 2 : 1;
}

function describeError(error: unknown): string {
  if (error instanceof ConfigError) return error.issues.join('; ');
  const unknownOutcome = 'a change under way may be made or not, see: ops audit';
  if (isRedisConnectionLost(error)) return `Redis became unavailable; ${unknownOutcome}`;
  if (error instanceof MalformedReply) return `${error.message}; ${unknownOutcome}`;
  return errorMessage(error);
}

function descendants(command: Command): Command[] {
  return command.commands.flatMap((child) => [child, ...descendants(child)]);
}
