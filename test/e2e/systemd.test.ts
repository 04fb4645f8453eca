import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { imageCommand } from '../support/containers/dockerfile.ts';
import { drainMs, settingsOf } from '../support/containers/settings.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const units = [
  { service: 'gateway', path: 'gateway/deploy/systemd/animal-store-gateway.service' },
  { service: 'pets-service', path: 'pets-service/systemd/animal-store-pets.service' },
];

const analyze = (...args: string[]) => spawnSync('systemd-analyze', args, { encoding: 'utf8' });

/** Maximum exposure, of 100. systemd calls up to 20 `OK`, and an ordinary service of root, 96, `UNSAFE`. */
const maxExposure = 20;

describe.each(units)('$path', ({ service, path }) => {
  const unit = () => readFile(join(root, path), 'utf8');
  const values = async (key: string) =>
    Array.from((await unit()).matchAll(new RegExp(`^${key}=(.*)$`, 'gm')), ([, value = '']) => value);

  test('is accepted by systemd', { tags: ['systemd'] }, async () => {
    await using directory = await temporaryDirectory();
    const copy = join(directory.path, basename(path));
    // The one thing that this machine has elsewhere.
    await writeFile(copy, (await unit()).replace('/usr/bin/node', process.execPath));
    const verify = () => {
      const { status, stderr } = analyze('verify', '--man=no', copy);
      return { status, stderr };
    };
    expect(verify()).toEqual({ status: 0, stderr: '' });
    await writeFile(copy, (await unit()).replace('[Service]', '[Service]\nProtectEverything=yes'));
    expect(verify().stderr).toContain('ProtectEverything');
  });

  test('leaves little of the machine to the service', { tags: ['systemd'] }, async () => {
    const check = (file: string) => analyze('security', '--offline=true', `--threshold=${maxExposure}`, file);
    expect(check(join(root, path))).toMatchObject({ status: 0, stdout: expect.stringContaining('OK') });
    await using directory = await temporaryDirectory();
    const open = join(directory.path, basename(path));
    await writeFile(
      open,
      (await unit()).replaceAll(/^(Protect|Private|Restrict|Capability|System).*\n/gm, ''),
    );
    expect(check(open).status).not.toBe(0);
  });

  test('names settings that exist, and secrets in files that systemd passes on', async () => {
    const credentials = (await values('LoadCredential')).map((value) => value.split(':')[0] ?? '');
    const passed: string[] = [];
    for (const assignment of await values('Environment')) {
      const [name = '', value = ''] = assignment.split('=');
      expect(settingsOf[service]).toContain(name);
      if (value.startsWith('%d/')) passed.push(value.slice('%d/'.length));
    }
    expect(passed.toSorted()).toEqual(credentials.toSorted());
    expect(passed).toHaveLength(2);
    expect(await unit()).not.toMatch(/:\/\/[^/\s]*@/);
  });

  test('starts the service itself, and lets it finish its requests', async () => {
    const [command = ''] = await values('ExecStart');
    // An image has the Node that it needs.
    const [, ...args] = command
      .replace(' --require ./gateway/deploy/demo/check-installation.cjs', '')
      .split(' ');
    expect(args.at(-1)).toBe(`${service}/server.ts`);
    expect(['node', ...args]).toEqual(await imageCommand(join(root, service, 'Dockerfile')));
    expect(Number((await values('TimeoutStopSec'))[0]) * 1000).toBeGreaterThan(drainMs);
  });
});
