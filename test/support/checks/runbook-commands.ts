import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { compileCache } from '../kits/service.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Text of a section of a document of the gateway. */
export function sectionOf(document: string, heading: string): string {
  const text = readFileSync(`${root}/gateway/${document}`, 'utf8');
  return text.split(new RegExp(`^##+ ${heading}\n`, 'm'))[1]?.split(/^##/m)[0] ?? '';
}

/** The blocks of shell commands in a section. */
export function commandsOf(document: string, heading: string): string[] {
  return Array.from(sectionOf(document, heading).matchAll(/```sh\n(.+?)```/gs), ([, code = '']) => code);
}

/** The documented commands that make a copy of Redis' data and exports, and that restore the one and the other. */
export function backupCommands() {
  const [copy = '', backup = ''] = commandsOf('REDIS.md', 'Back up');
  const [restore = '', restoreCopy = ''] = commandsOf('REDIS.md', 'Redis came back empty');
  return { copy, backup, restore, restoreCopy };
}

/** Runs documented commands in a directory. */
export async function runDocumented(commands: string, directory: string, url: string): Promise<void> {
  const script = `
    set -e
    ops() { '${process.execPath}' --disable-warning=ExperimentalWarning '${root}/gateway/faces/command/main.ts' "$@"; }
    ${commands.replaceAll('redis://new:6379', url)}`;
  await promisify(execFile)('sh', ['-c', script], {
    cwd: directory,
    env: { PATH: process.env['PATH'], ...compileCache(), REDIS_URL: url },
  });
}
