import { run } from '../../../gateway/faces/command/run.ts';
import type { Ended } from './service.ts';

/** A command as runOps sends it, once the one before has ended. */
interface OpsCommand {
  args: string[];
  env: Record<string, string>;
}

/*
 * Runs ops commands one after the other, each as main.ts does in a process of its own: starting one takes most of the time of
 * a command. Ends with the process that sends the commands.
 */
const environment = { ...process.env };
const output = { stdout: '', stderr: '' };
for (const name of ['stdout', 'stderr'] as const) {
  process[name].write = (chunk: string | Uint8Array) => {
    output[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    return true;
  };
}

process.on('message', (command: OpsCommand) => void runOne(command));
process.on('disconnect', () => process.exit());

async function runOne({ args, env }: OpsCommand): Promise<void> {
  process.env = { ...environment, ...env };
  await run(args);
  const ended: Ended = { code: takeExitCode(), ...output };
  Object.assign(output, { stdout: '', stderr: '' });
  process.send?.(ended);
}

function takeExitCode(): number {
  const code = Number(process.exitCode ?? 0);
  process.exitCode = undefined;
  return code;
}
