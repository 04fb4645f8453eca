import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { outputOf } from '../../support/programs.ts';

const directory = fileURLToPath(new URL('.', import.meta.url));

/** Packages of the tools, which are installed on their own: npm ci --prefix test/contract/tools. */
export const toolPackages = join(directory, 'node_modules');

export const hasApiTools = existsSync(join(toolPackages, '.package-lock.json'));

/**
 * Runs one of the tools until it exits. None of them reports to its makers.
 * @returns what it printed
 * @throws Error with what it printed, if it fails
 */
export async function runTool(name: string, args: string[], cwd = directory): Promise<string> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [join(toolPackages, '.bin', name), ...args], {
    cwd,
    env: { PATH, HOME, NO_COLOR: '1', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = outputOf(child);
  const [code]: unknown[] = await once(child, 'close');
  if (code !== 0) throw new Error(`${name} ${args.join(' ')} exited with ${String(code)}:\n${output()}`);
  return output();
}
