import { readFileSync } from 'node:fs';

const checkMs = 500;

/**
 * Calls back when npm, which runs this process, has ended without a signal to it, as after SIGKILL: nobody could stop the
 * services any more. The system tells children nothing, so this looks at their parents. On systems without /proc it sees
 * only the end of the process' own parent, which may be a shell of npm's. Watches nothing if npm did not start it.
 */
export function whenNpmEnds(callback: () => void): void {
  if (process.env['npm_lifecycle_event'] === undefined) return;
  const first = ancestors();
  const timer = setInterval(() => {
    if (ancestors() === first) return;
    clearInterval(timer);
    callback();
  }, checkMs);
  timer.unref();
}

/** The parent and, if that is a shell with one command, as npm starts it, its parent. */
function ancestors(): string {
  const parent = process.ppid;
  try {
    const isShell = readFileSync(`/proc/${parent}/cmdline`, 'utf8').split('\0')[1] === '-c';
    // The name of the program, in parentheses, may hold spaces. State and parent follow it (proc_pid_stat(5)).
    const [, grandparent] = readFileSync(`/proc/${parent}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return isShell ? `${parent} ${grandparent}` : String(parent);
  } catch {
    return String(parent);
  }
}
