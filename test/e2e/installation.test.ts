import { execFile } from 'node:child_process';
import { cp, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { oldNode } from '../support/programs.ts';

const check = '--require ./gateway/deploy/demo/check-installation.cjs ';
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The sources, without packages and without the generated database client, as after a clone. */
const directory = shared(temporaryDirectory);

beforeAll(async () => {
  for (const entry of ['package.json', 'gateway', 'pets-service/server.ts', 'prisma/migrate.ts']) {
    await cp(join(root, entry), join(directory.path, entry), { recursive: true });
  }
});

/** Runs a program as its script does, with a Node. */
async function start(
  node: string,
  program = 'gateway/deploy/demo/start-all.ts',
): Promise<{ code: unknown; stderr: string }> {
  const { HOME = '', PATH = '' } = process.env;
  return new Promise((resolve) => {
    execFile(
      node,
      [...check.trim().split(' '), program],
      { cwd: directory.path, env: { HOME, PATH } },
      (error, _stdout, stderr) => {
        resolve({ code: error?.code, stderr });
      },
    );
  });
}

describe('npm start on an incomplete installation prints one line', () => {
  test('without packages', async () => {
    expect(await start(process.execPath)).toEqual({
      code: 1,
      stderr: 'npm start: the dependencies are not installed: run npm ci\n',
    });
  });

  test('without the database client, which a script of npm ci generates', async () => {
    await mkdir(join(directory.path, 'node_modules'), { recursive: true });
    expect(await start(process.execPath)).toEqual({
      code: 1,
      stderr: 'npm start: the database client is not generated: run npm ci without --ignore-scripts\n',
    });
  });

  test.each([
    ['npm start', 'gateway/deploy/demo/start-all.ts'],
    ['npm run dev', 'gateway/deploy/demo/check-installation.cjs'],
    ...[
      'gateway/server.ts',
      'gateway/faces/command/main.ts',
      'pets-service/server.ts',
      'prisma/migrate.ts',
    ].map((name) => [name, name]),
  ])(
    "with an older Node, which runs it if the project's own is not installed: %s",
    { tags: ['old-node'] },
    async (name = '', program) => {
      const { code, stderr } = await start(oldNode ?? '', program);
      expect(code).toBe(1);
      expect(stderr.startsWith(`${name}: `)).toBe(true);
      expect(stderr.slice(name.length)).toMatch(
        /^: the project needs Node 24\.9 or later, and this is v\d+\.\d+\.\d+: run npm ci without .+, which installs its own Node 26 in node_modules\/\.bin, or install one\n$/,
      );
    },
  );
});
