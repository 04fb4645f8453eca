import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { recordOutput } from '../checks/evidence.ts';
import { outputOf } from '../programs.ts';
import type { Image } from './dockerfile.ts';

/** Whether this user may make mount namespaces, which takes root. */
export const hasMountNamespaces =
  process.platform === 'linux' && spawnSync('unshare', ['--mount', 'true']).status === 0;

/** User and group `node` of the base image. */
const nodeId = 1000;

/** What a container has of this machine in place of the base image. */
const baseFolders = ['bin', 'dev', 'etc', 'lib', 'lib64', 'proc', 'sbin', 'usr'];

export interface Container {
  child: ChildProcess;
  exited: Promise<number | null>;
  output(): string;
}

interface ContainerOptions {
  command: readonly string[];
  env: Record<string, string>;
  /** Folder that the container has as /run/secrets. */
  secrets: string;
  /** Empty folder for its root. */
  root: string;
}

/**
 * Starts a command in an image as docker-compose.yml has it run: nothing but the image's files under its working
 * directory, all file systems read-only, the user node, no capabilities, no new privileges. It has the network and the
 * processes of this machine.
 */
export async function startContainer(
  image: Image,
  { command, env, secrets, root }: ContainerOptions,
): Promise<Container> {
  const folders = baseFolders.filter((name) => existsSync(join('/', name)));
  for (const name of [...folders, image.workdir, 'run/secrets', 'opt/node'])
    await mkdir(join(root, name), { recursive: true });
  const node = join(process.execPath, '..');
  const mounts = [
    ['--bind', root, root],
    ...folders.map((name) => ['--rbind', `/${name}`, join(root, name)]),
    ['--bind', join(image.root, image.workdir), join(root, image.workdir)],
    ['--bind', secrets, join(root, 'run/secrets')],
    ['--bind', node, join(root, 'opt/node')],
  ];
  const script = [
    'set -e',
    ...mounts.map((args) => `mount ${args.map(quote).join(' ')}`),
    // Each mount has a flag of its own. Those below /proc and /dev are the machine's.
    ...[...mounts.slice(1), ...mounts.slice(0, 1)].map(
      ([, , target = '']) => `mount -o remount,bind,ro ${quote(target)}`,
    ),
    `cd ${quote(root)}`,
    `exec chroot . setpriv --reuid=${nodeId} --regid=${nodeId} --clear-groups --no-new-privs \\`,
    '  --inh-caps=-all --ambient-caps=-all --bounding-set=-all \\',
    `  sh -c ${quote(`cd ${quote(image.workdir)} && exec "$@"`)} sh ${command.map(quote).join(' ')}`,
  ].join('\n');
  const child = spawn('unshare', ['--mount', 'sh', '-c', script], {
    env: { PATH: '/opt/node:/usr/sbin:/usr/bin:/sbin:/bin', ...image.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = outputOf(child, recordOutput);
  const exited = new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { child, exited, output };
}

const quote = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`;
