import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The order of the rooms: each imports those before it. */
const order = 'limits platform keys upstream quota request control faces process deploy'.split(' ');

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

test('what serves the API is some seventy files, and none of what operators, customers and readers see', () => {
  const files = [...loadedBy('gateway/app.ts')];
  expect(files).toContain('gateway/request/authenticate.ts');
  expect(files).toContain('gateway/platform/runtime/error-message.ts');
  const folders = /^gateway\/(?:control|faces|process|deploy)\//;
  expect(files.filter((file) => folders.test(file))).toEqual([]);
  expect(files.length).toBeLessThanOrEqual(75);
});

/** Files of faces that import a noun otherwise than through the registry: they have a shape of their own, or say who may. */
const byHand = {
  'who may, and signing in':
    'api/access/caller api/access/console-access api/route api/session command/console ' +
    'portal/portal-access portal/portal-api',
  'live figures, streams and files':
    'command/keys-transfer command/plans-file command/status command/webhooks-test',
  'what an adapter gives operations, or asks of every text':
    'api/api api/change-reason command/operation-command command/options command/output',
};

test('faces import a noun through the registry, but for what has a shape of its own', () => {
  const faces = join(root, 'gateway/faces');
  const importing = globSync('**/*.ts', { cwd: faces }).filter((file) =>
    /^(?:import|export) (?!type )(?:[\w$]+|\{[^}]*?(?:\{|,|\s)(?!type )\w[^}]*\}) from '(?:\.\.\/)+control\/[a-z]+\//m.test(
      readFileSync(join(faces, file), 'utf8'),
    ),
  );
  const expected = Object.values(byHand).flatMap((files) => files.split(' ').map((file) => `${file}.ts`));
  expect(importing.toSorted()).toEqual(expected.toSorted());
});
