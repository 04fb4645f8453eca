import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readVersion } from '#runtime/version.ts';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const json = (path: string) => JSON.parse(read(path)) as Record<string, unknown>;
const releaseNotes = (version: string) =>
  spawnSync(join(root, '.ci/release-notes'), [version], { encoding: 'utf8' });

describe('the version', () => {
  const { version } = json('package.json') as { version: string };

  test('of package.json is that of the lock file, the runtime of both services and the newest release note', () => {
    type Lock = { version: string; packages: Record<string, { version?: string }> };
    const lock = json('package-lock.json') as Lock;
    const [, newest] = /^### (\d\S+)$/m.exec(read('gateway/OPERATE.md')) ?? [];
    expect([lock.version, lock.packages['']?.version, readVersion(), newest]).toEqual(Array(4).fill(version));
  });

  test('has release notes, and one without them an error', () => {
    expect(releaseNotes(version)).toMatchObject({ status: 0, stdout: expect.stringMatching(/\w/) as string });
    const { status, stdout, stderr } = releaseNotes('9.9.9');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain('gateway/OPERATE.md has no release note 9.9.9');
  });
});

test("the README's pictures come light and dark, and are small", () => {
  const named = read('README.md').match(/(?<=")\.github\/pictures\/[^"]+/g) ?? [];
  expect(named.toSorted()).toEqual(globSync('.github/pictures/*', { cwd: root }).toSorted());
  expect(named.map((path) => path.replace(/^.*\//, '')).toSorted()).toEqual(
    ['console', 'docs'].flatMap((page) => [`${page}-dark.png`, `${page}-light.png`]),
  );
  const bytes = named.map((path) => statSync(join(root, path)).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(270_000);
});

describe('.github', () => {
  const files = globSync(['.github/**/*.yml', '.github/**/*.yaml'], { cwd: root }).toSorted();
  const workflows = files.filter((file) => file.startsWith('.github/workflows/'));
  const parse = (file: string) => {
    const document = parseDocument(read(file), { strict: true, uniqueKeys: true });
    expect(document.errors, file).toEqual([]);
    return document.toJS() as Record<string, unknown>;
  };
  type Step = { uses?: string; run?: string };
  type Job = {
    'runs-on': string;
    needs?: string | string[];
    steps: Step[];
    permissions?: Record<string, string>;
    strategy?: { matrix: { seeds?: string[] } };
  };
  const jobsOf = (file: string) => parse(file)['jobs'] as Record<string, Job>;
  const steps = (file: string) => Object.values(jobsOf(file)).flatMap((job) => job.steps);

  test('workflows run only files and npm scripts that exist', () => {
    const { scripts } = json('package.json') as { scripts: Record<string, string> };
    const named: string[] = [];
    for (const { run = '' } of workflows.flatMap(steps)) {
      for (const [file] of run.matchAll(/(?<=^|\s)\.ci\/[\w-]+/gm)) named.push(file);
      for (const [, script = ''] of run.matchAll(/npm run ([\w:-]+)/g))
        expect(scripts).toHaveProperty([script]);
    }
    expect(new Set(named)).toEqual(new Set(['.ci/run', '.ci/release-notes']));
    for (const file of named) expect(existsSync(join(root, file)), file).toBe(true);
    const dockerfiles = read('.github/workflows/release.yml').matchAll(/file: (\S+Dockerfile)/g);
    expect(Array.from(dockerfiles, ([, file = '']) => existsSync(join(root, file)))).toEqual([true, true]);
  });

  test('images get SBOM, full provenance and a signature of their digest', () => {
    const [build = '', sign = ''] = steps('.github/workflows/release.yml').flatMap(({ run }) =>
      run !== undefined && /buildx build|cosign/.test(run) ? run : [],
    );
    expect(build).toContain('--sbom=true --provenance=mode=max');
    expect(sign).toMatch(/^cosign sign --yes "\$IMAGE@/);
  });

  test('each workflow may read only, unless a job says what it writes; actions have a version', () => {
    for (const file of workflows) {
      expect(parse(file)['permissions'], file).toEqual({ contents: 'read' });
      for (const { uses = 'a/step-of-its-own@v1' } of steps(file))
        expect(uses).toMatch(/^[\w-]+\/[\w-]+@v\d+$/);
    }
  });
});
