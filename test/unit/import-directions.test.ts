import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
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

/** The order of the rooms: each imports those before it. */
const order = 'limits platform keys upstream quota request control faces process deploy'.split(' ');

/** Each import breaks a direction of gateway/README.md, section Folders. */
const forbiddenImports = [
  ...order.flatMap((room, index) =>
    order
      .slice(index + 1)
      .map((above) => ({ file: `gateway/${room}/${above}.ts`, imported: `../${above}/x.ts` })),
  ),
  { file: 'gateway/app.ts', imported: './control/keys/keys.ts' },
  { file: 'gateway/keys/api-key-cache.ts', imported: '../quota/quota.ts' },
  { file: 'gateway/upstream/upstreams.ts', imported: '../quota/quota.ts' },
  { file: 'gateway/upstream/routes.ts', imported: '../keys/api-key-format.ts' },
  { file: 'gateway/faces/api/api.ts', imported: '../../request/authenticate.ts' },
  { file: 'gateway/deploy/demo/demo-key.ts', imported: '../../request/authenticate.ts' },
  { file: 'gateway/faces/console/browser/key.ts', imported: '../../../control/keys/key-view.ts' },
  { file: 'gateway/faces/browser/format.ts', imported: '../../control/keys/key-view.ts' },
  { file: 'gateway/faces/browser/elements/table.ts', imported: '../../console/browser/key.ts' },
  { file: 'gateway/faces/docs/browser/main.ts', imported: '../../../quota/usage.ts' },
  { file: 'gateway/errors.ts', imported: '../pets-service/errors.ts' },
  { file: 'pets-service/app.ts', imported: '../gateway/errors.ts' },
  { file: 'pets-service/server.ts', imported: '#runtime/lifecycle.ts' },
  { file: 'prisma/migrate.ts', imported: '../pets-service/config.ts' },
];

test('no room imports one that stands above it, not even a type', () => {
  const against = globSync('gateway/*/**/*.ts', { cwd: root }).flatMap((file) => {
    const room = file.split('/')[1] ?? '';
    const specifiers = readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:import|export) [^;]*? from '(\.[^']+)';$/gm,
    );
    return Array.from(specifiers, ([, specifier = '']) => join(dirname(file), specifier))
      .filter((path) => order.indexOf(path.split('/')[1] ?? '') > order.indexOf(room))
      .map((path) => `${file} imports ${path}`);
  });
  expect(against).toEqual([]);
  const rooms = readdirSync(join(root, 'gateway'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect(rooms.map(({ name }) => name).toSorted()).toEqual(order.toSorted());
});

/** Files that a file imports, directly or not; what it imports as a type only is not loaded. */
function loadedBy(file: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  const source = readFileSync(join(root, file), 'utf8');
  for (const [, specifier = ''] of source.matchAll(
    /^(?:import|export) (?!type )(?:[^;]*? from )?'([^']+)';$/gm,
  )) {
    if (specifier.startsWith('#runtime/'))
      loadedBy(specifier.replace('#runtime/', 'gateway/platform/runtime/'), loaded);
    else if (specifier.startsWith('.')) loadedBy(join(dirname(file), specifier), loaded);
  }
  return loaded;
}

test('what serves the API is a hundred files, and none of what operators, customers and readers see', () => {
  const files = [...loadedBy('gateway/app.ts')];
  expect(files).toContain('gateway/request/authenticate.ts');
  expect(files).toContain('gateway/platform/runtime/error-message.ts');
  const folders = /^gateway\/(?:control|faces|process|deploy)\//;
  expect(files.filter((file) => folders.test(file))).toEqual([]);
  expect(files.length).toBeLessThanOrEqual(120);
});

/** Files of faces that import a noun otherwise than through the registry: they have a shape of their own, or say who may. */
const byHand = {
  'who may, and signing in': [
    'api/access/require-permission.ts',
    'api/access/require-token.ts',
    'api/access/verify-session.ts',
    'api/route.ts',
    'api/session.ts',
    'command/console.ts',
    'portal/portal-access.ts',
    'portal/portal-api.ts',
  ],
  'live figures, streams and files': [
    'api/live-routes.ts',
    'command/keys-transfer.ts',
    'command/plans-file.ts',
    'command/status.ts',
    'command/webhooks-test.ts',
  ],
  'what an adapter gives operations, or asks of every text': [
    'api/api.ts',
    'api/change-reason.ts',
    'command/operation-command.ts',
    'command/options.ts',
    'command/output.ts',
    'command/redis-session.ts',
    'command/setting-changes.ts',
  ],
};

test('faces import a noun through the registry, but for what has a shape of its own', () => {
  const faces = join(root, 'gateway/faces');
  const importing = globSync('**/*.ts', { cwd: faces }).filter((file) =>
    /^(?:import|export) (?!type )(?:[\w$]+|\{[^}]*?(?:\{|,|\s)(?!type )\w[^}]*\}) from '(?:\.\.\/)+control\/[a-z]+\//m.test(
      readFileSync(join(faces, file), 'utf8'),
    ),
  );
  expect(importing.toSorted()).toEqual(Object.values(byHand).flat().toSorted());
});

test('lint refuses an import against the direction of the folders', async () => {
  const refused = await lint(forbiddenImports);
  expect([...refused.keys()].toSorted()).toEqual(forbiddenImports.map(({ file }) => file).toSorted());
  expect(refused.get('gateway/request/control.ts')).toContain('gateway/README.md, Folders');
});
