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
  // Ctrl-C, which the terminal driver turns into SIGINT.
  return (await runAndType(args, env, { isComplete, typed: '\u{3}' })).output;
}

/**
 * Runs one of the project's programs to its end, and answers its question, which ends with [y/N].
 * @param beforeAnswer called when the question has been asked
 */
export async function answerOnTerminal(
  args: string[],
  env: Record<string, string>,
  answer: string,
  beforeAnswer?: () => Promise<void>,
): Promise<string> {
  const isComplete = (output: string) => output.includes('[y/N]');
  return (await runAndType(args, env, { isComplete, typed: `${answer}\r`, beforeTyping: beforeAnswer }))
    .output;
}

/**
 * Runs one of the project's programs on a terminal, and types the input when the output contains the prompt.
 * @returns the exit code, and what the terminal shows
 */
export function typeOnTerminal(
  args: string[],
  env: Record<string, string>,
  { prompt, input }: { prompt: string; input: string },
): Promise<OnTerminal> {
  return runAndType(args, env, { isComplete: (output) => output.includes(prompt), typed: input });
}

interface OnTerminal {
  code: number | null;
  output: string;
}

interface Typing {
  /** Whether the program waits for what is typed. */
  isComplete: (output: string) => boolean;
  typed: string;
  beforeTyping?: (() => Promise<void>) | undefined;
}

async function runAndType(
  args: string[],
  env: Record<string, string>,
  { isComplete, typed, beforeTyping = () => Promise.resolve() }: Typing,
): Promise<OnTerminal> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...args].join(' ');
  const options = ['--quiet', '--return', '--echo', 'always', '--command', command, '/dev/null'];
  const child = spawn('script', options, {
    cwd: root,
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  let output = '';
  let isTyped = false;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (isTyped || !isComplete(output)) return;
    isTyped = true;
    void beforeTyping().then(() => child.stdin.write(typed));
  });
  const killTimer = setTimeout(() => child.kill('SIGKILL'), 20_000);
  const code = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  clearTimeout(killTimer);
  return { code, output };
}
