import { spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryDirectory } from '../kits/temporary-directory.ts';
import type { Manifest } from './kustomize.ts';

const packages = fileURLToPath(new URL('../../../node_modules', import.meta.url));

/** Module of the models of an API group: those of custom resources have a package of their own. */
const moduleOf = ({ apiVersion }: Manifest) =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

type Model = new (manifest: Manifest) => { validate(): void };

/**
 * Validates an object with the JSON schema of its kind: required fields, types, formats and values.
 * @throws Error that names the field
 */
export async function assertSchema(manifest: Manifest): Promise<void> {
  const models = (await import(moduleOf(manifest))) as Record<string, Model>;
  const model = models[manifest.kind];
  if (model === undefined) throw new Error(`${manifest.apiVersion} has no kind ${manifest.kind}`);
  new model(manifest).validate();
}

/**
 * Finds fields that their kinds do not have, which the schemas allow and Kubernetes ignores or refuses: as literals of
 * the kinds' types, the objects are checked by the compiler.
 * @returns messages of the compiler
 */
export async function findUnknownFields(manifests: readonly Manifest[]): Promise<string[]> {
  await using directory = await temporaryDirectory();
  await symlink(packages, join(directory.path, 'node_modules'));
  const source = manifests.map(
    (manifest, index) =>
      `import type { I${manifest.kind} as Kind${index} } from '${moduleOf(manifest)}';\n` +
      `export const object${index}: Kind${index} = ${JSON.stringify(manifest)};\n`,
  );
  await writeFile(join(directory.path, 'package.json'), '{ "type": "module" }');
  await writeFile(join(directory.path, 'manifests.ts'), source.join(''));
  const compiler = join(packages, '.bin/tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
  const { stdout } = spawnSync(compiler, [...options, 'manifests.ts'], {
    cwd: directory.path,
    encoding: 'utf8',
  });
  return stdout.split('\n').filter((line) => line !== '');
}
