import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Runs one of the project's programs until its output is complete, and then sends Ctrl-C. Its terminal is made by script
 * (Debian: bsdutils).
 */
export async function runOnTerminal(
  args: string[],
  env: Record<string, string>,
  isComplete: (output: string) => boolean,
): Promise<string> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...args].join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: root,
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  let output = '';
  let interrupted = false;
  const exited = new Promise<void>((resolve) => {
    child.on('exit', () => resolve());
  });
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (interrupted || !isComplete(output)) return;
    interrupted = true;
    // Ctrl-C, which the terminal driver turns into SIGINT.
    child.stdin.write('\u{3}');
  });
  await exited;
  clearTimeout(killTimer);
  return output;
}

/**
 * Runs one of the project's programs on a terminal, and types the input when the output contains the prompt.
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
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  let output = '';
  let typed = false;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (typed || !output.includes(prompt)) return;
    typed = true;
    child.stdin.write(input);
  });
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  clearTimeout(killTimer);
  return { code, output };
}
