import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { compileCache } from './service.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Runs one of the project's programs on a terminal, which script makes (Debian: bsdutils), and types the input when the
 * output contains the prompt.
 * @returns the exit code, and what the terminal shows
 */
export async function typeOnTerminal(
  args: string[],
  env: Record<string, string>,
  { prompt, input }: { prompt: string; input: string },
): Promise<{ code: number | null; output: string }> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...args].join(' ');
  const options = ['--quiet', '--return', '--echo', 'always', '--command', command, '/dev/null'];
  const child = spawn('script', options, {
    cwd: root,
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...compileCache(), ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  let output = '';
  let isTyped = false;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (isTyped || !output.includes(prompt)) return;
    isTyped = true;
    child.stdin.write(input);
  });
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  clearTimeout(killTimer);
  return { code, output };
}
