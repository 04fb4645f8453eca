import { ConfigError } from '#runtime/environment.ts';
import { describeIssues, errorMessage } from '#runtime/error-message.ts';
import { CommanderError } from 'commander';
import { ZodError } from 'zod';
import { InvalidOperation } from '../../control/invalid-operation.ts';
import { OvertakenChange } from '../../control/overtaken-change.ts';
import { setKeyPrefix } from '../../platform/config/key-prefix.ts';
import { isRedisConnectionLost, nameWrongType } from '../../platform/redis/redis-errors.ts';
import { petsKeyPrefix } from '../../upstream/pets-service.ts';
import { printError, resetOutput } from './output.ts';
import { program } from './program.ts';

// ioredis warns there if the Redis user may not run INFO. Commands that need it say so themselves.
console.warn = () => {};

/**
 * Runs one command, and sets the exit code of the process.
 * @param args those after the name of the program
 */
export async function run(args: readonly string[]): Promise<void> {
  resetOutput();
  // Commander takes an empty variable for a value.
  if (process.env['OPS_AS'] === '') delete process.env['OPS_AS'];
  // That of a gateway without a services file, until Redis says another.
  setKeyPrefix(petsKeyPrefix);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** @returns the exit code */
function report(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    // Help that is shown because there is no command needs no message.
    if (error.code !== 'commander.help') printError(error.message.replace(/^error: /, ''));
    return 2;
  }
  printError(describeError(error));
  // The input of a change that was overtaken is valid.
  if (error instanceof OvertakenChange) return 1;
  return [InvalidOperation, ConfigError, ZodError].some((kind) => error instanceof kind) ? 2 : 1;
}

function describeError(error: unknown): string {
  if (error instanceof ConfigError) return error.issues.join('; ');
  if (error instanceof ZodError) return describeIssues(error).join('; ');
  const unknownOutcome = 'a change under way may be made or not, see: ops audit';
  if (isRedisConnectionLost(error)) return `Redis became unavailable; ${unknownOutcome}`;
  return errorMessage(nameWrongType(error));
}
