import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The program script (Debian: bsdutils) gives another one a terminal of its own. */
/** Runs one of the project's programs on a terminal until its output is as expected, and ends it with Ctrl-C. */
export async function runOnTerminal(
  args: string[],
  env: Record<string, string>,
  enough: (output: string) => boolean,
): Promise<string> {
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', ...args].join(' ');
  const child = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], {
    cwd: root,
    env: { PATH: process.env['PATH'], TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.on('error', () => {});
  let output = '';
  let ended = false;
  const exited = new Promise<void>((resolve) => {
    child.on('exit', () => resolve());
  });
  const patience = setTimeout(() => child.kill('SIGKILL'), 20_000);
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (ended || !enough(output)) return;
    ended = true;
    // Ctrl-C, as the terminal's driver sees it.
    child.stdin.write('\u{3}');
  });
  await exited;
  clearTimeout(patience);
  return output;
}
