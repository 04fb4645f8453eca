import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Text of a section of the operators' runbook. */
export function runbookSection(heading: string): string {
  const runbook = readFileSync(`${root}/gateway/ops/RUNBOOK.md`, 'utf8');
  return runbook.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
}

/** The documented commands that make a backup, and that restore it or a copy of Redis' data. */
export function backupCommands(): { backup: string; restore: string; restoreCopy: string } {
  const commands = (heading: string) =>
    Array.from(runbookSection(heading).matchAll(/```sh\n(.+?)```/gs), ([, code = '']) => code);
  const [backup = ''] = commands('Move to a new Redis');
  const [restore = '', restoreCopy = ''] = commands('Redis came back empty');
  return { backup, restore, restoreCopy };
}

/** Runs documented commands in a directory. */
export async function runDocumented(commands: string, directory: string, url: string): Promise<void> {
  const script = `
    set -e
    ops() { '${process.execPath}' --disable-warning=ExperimentalWarning '${root}/gateway/ops/main.ts' "$@"; }
    ${commands.replaceAll('redis://new:6379', url)}`;
  await promisify(execFile)('sh', ['-c', script], {
    cwd: directory,
    env: { PATH: process.env['PATH'], REDIS_URL: url },
  });
}
