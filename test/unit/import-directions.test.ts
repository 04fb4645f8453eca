import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Lints a tree that contains only these files. @returns messages by file */
async function lint(imports: readonly { file: string; imported: string }[]): Promise<Map<string, string>> {
  await using directory = await temporaryDirectory();
  cpSync(join(root, '.oxlintrc.json'), join(directory.path, '.oxlintrc.json'));
  for (const { file, imported } of imports) {
    mkdirSync(join(directory.path, dirname(file)), { recursive: true });
    writeFileSync(join(directory.path, file), `import { thing } from '${imported}';\n\nthing();\n`);
  }
  const { stdout } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/oxlint/bin/oxlint'), '--format=json', '.'],
    { cwd: directory.path, encoding: 'utf8' },
  );
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: { code: string; filename: string; help?: string; message: string }[];
  };
  return new Map(
    diagnostics
      .filter(({ code }) => code.includes('no-restricted-imports'))
      .map(({ filename, help, message }) => [filename, `${message} ${help ?? ''}`]),
  );
}

/** Each import breaks a direction of gateway/README.md, section Folders. */
const forbiddenImports = [
  { file: 'gateway/server.ts', imported: './operations/api-key-store.ts' },
  { file: 'gateway/instance.ts', imported: './journey/authenticate.ts' },
  { file: 'gateway/journey/authenticate.ts', imported: '../operations/api-key-store.ts' },
  { file: 'gateway/journey/enforce-quota.ts', imported: '../redis/redis-client.ts' },
  { file: 'gateway/api-keys/api-key-cache.ts', imported: '../quota/quota.ts' },
  { file: 'gateway/limits/windows.ts', imported: '../redis/redis-keys.ts' },
  { file: 'gateway/plans/plans.ts', imported: '../quota/quota.ts' },
  { file: 'gateway/quota/quota.ts', imported: '../journey/enforce-quota.ts' },
  { file: 'gateway/events/sweep.ts', imported: '../operations/stored-customers.ts' },
  { file: 'gateway/quota/busy-customers.ts', imported: '../events/use-events.ts' },
  { file: 'gateway/traffic/traffic-reporter.ts', imported: '../quota/busy-customers.ts' },
  { file: 'gateway/redis/redis-clock.ts', imported: '../traffic/traffic-fields.ts' },
  { file: 'gateway/upstream/target.ts', imported: '../quota/quota.ts' },
  { file: 'gateway/http/pipelines.ts', imported: '../upstream/target.ts' },
  { file: 'gateway/redis/redis-client.ts', imported: '../plans/plans.ts' },
  { file: 'gateway/config/config.ts', imported: '../redis/redis-client.ts' },
  { file: 'gateway/observability/metrics.ts', imported: '../http/http-server.ts' },
  { file: 'gateway/runtime/log.ts', imported: '../observability/metrics.ts' },
  { file: 'gateway/journey/receive.ts', imported: '#runtime/log.ts' },
  { file: 'gateway/journey/begin.ts', imported: '../docs/docs.ts' },
  { file: 'gateway/app.ts', imported: './portal/portal.ts' },
  { file: 'gateway/workers/worker.ts', imported: '../journey/authenticate.ts' },
  { file: 'gateway/operations/plan-store.ts', imported: '../ops/output.ts' },
  { file: 'gateway/ops/keys.ts', imported: '../admin/admin-app.ts' },
  { file: 'gateway/admin/admin-app.ts', imported: '../ops/output.ts' },
  { file: 'gateway/demo/demo-key.ts', imported: '../ops/output.ts' },
  { file: 'gateway/docs/layout.ts', imported: '../quota/usage.ts' },
  { file: 'gateway/quota/usage.ts', imported: '../docs/docs.ts' },
  { file: 'gateway/admin/console/browser/key.ts', imported: '../../../operations/key-view.ts' },
  { file: 'gateway/browser/format.ts', imported: '../operations/key-view.ts' },
  { file: 'gateway/browser/elements/table.ts', imported: '../../admin/console/browser/key.ts' },
  { file: 'gateway/docs/browser/main.ts', imported: '../../quota/usage.ts' },
  { file: 'gateway/errors.ts', imported: '../pets-service/errors.ts' },
  { file: 'pets-service/app.ts', imported: '../gateway/errors.ts' },
  { file: 'prisma/migrate.ts', imported: '../pets-service/config.ts' },
];

const allowedImports = [
  { file: 'gateway/app.ts', imported: './journey/authenticate.ts' },
  { file: 'gateway/journey/authenticate.ts', imported: '../api-keys/api-key-cache.ts' },
  { file: 'gateway/quota/quota.ts', imported: '../plans/plans.ts' },
  { file: 'gateway/browser/elements/table.ts', imported: '../format.ts' },
  { file: 'gateway/portal/browser/main.ts', imported: '../../browser/format.ts' },
  { file: 'gateway/admin/console/browser/elements/limits-form.ts', imported: '../../../../limits/limits.ts' },
  { file: 'gateway/browser/elements/window-meter.ts', imported: '../../limits/windows.ts' },
  { file: 'gateway/redis/redis-client.ts', imported: '../config/redis-url.ts' },
  { file: 'gateway/operations/traffic.ts', imported: '../traffic/traffic-fields.ts' },
  { file: 'gateway/ops/keys.ts', imported: '../operations/api-key-store.ts' },
  { file: 'gateway/server.ts', imported: '#runtime/lifecycle.ts' },
  { file: 'pets-service/server.ts', imported: '#runtime/lifecycle.ts' },
  { file: 'pets-service/app.ts', imported: '../prisma/migrate.ts' },
];

/** Files that a file imports, directly or not; what it imports as a type only is not loaded. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const source = readFileSync(join(root, file), 'utf8');
  for (const [, specifier = ''] of source.matchAll(
    /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';$/gm,
  )) {
    if (specifier.startsWith('#runtime/'))
      loadedBy(specifier.replace('#runtime/', 'gateway/runtime/'), loaded);
    else if (specifier.startsWith('.')) loadedBy(join(dirname(file), specifier), loaded);
  }
  return loaded;
}

test('what serves the API is a hundred files, and none of what operators, customers and readers see', () => {
  const files = [...loadedBy('gateway/app.ts')];
  expect(files).toContain('gateway/journey/authenticate.ts');
  expect(files).toContain('gateway/runtime/http-error.ts');
  const folders = /^gateway\/(?:operations|ops|admin|portal|docs|browser|events|demo|workers)\//;
  expect(files.filter((file) => folders.test(file))).toEqual([]);
  expect(files.length).toBeLessThanOrEqual(120);
});

test('lint refuses an import against the direction of the folders', async () => {
  const refused = await lint(forbiddenImports);
  expect([...refused.keys()].toSorted()).toEqual(forbiddenImports.map(({ file }) => file).toSorted());
  expect(refused.get('gateway/journey/authenticate.ts')).toContain('gateway/README.md, Folders');
});

test('lint accepts an import in the direction of the folders', async () => {
  expect(await lint(allowedImports)).toEqual(new Map());
});
