import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/**
 * Runs one of the project's programs until its output is complete, and then sends Ctrl-C. Its terminal is made by script
 * (Debian: bsdutils).
 */
export function runOnTerminal(
  args: string[],
  env: Record<string, string>,
  isComplete: (output: string) => boolean,
): Promise<string> {
  // Ctrl-C, which the terminal driver turns into SIGINT.
  return typeOnTerminal(args, env, isComplete, '\u{3}');
}

/**
 * Runs one of the project's programs to its end, and answers its question, which ends with [y/N].
 * @param beforeAnswer called when the question has been asked
 */
export function answerOnTerminal(
  args: string[],
  env: Record<string, string>,
  answer: string,
  beforeAnswer?: () => Promise<void>,
): Promise<string> {
  return typeOnTerminal(args, env, (output) => output.includes('[y/N]'), `${answer}\r`, beforeAnswer);
}

async function typeOnTerminal(
  args: string[],
  env: Record<string, string>,
  isComplete: (output: string) => boolean,
  typed: string,
  beforeTyping: () => Promise<void> = () => Promise.resolve(),
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
    void beforeTyping().then(() => child.stdin.write(typed));
  });
  await exited;
  clearTimeout(killTimer);
  return output;
}
