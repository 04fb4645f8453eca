import { spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { temporaryDirectory } from '../kits/temporary-directory.ts';

/** An object of Kubernetes, as far as all kinds have the same fields. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
}

const root = fileURLToPath(new URL('../../..', import.meta.url));
const packages = join(root, 'node_modules');

/** Whether kubectl knows the components and patches of the manifests: Kustomize 5, in kubectl 1.27 and later. */
export const hasKustomize =
  Number(/Kustomize Version: v(\d+)/.exec(run('version', '--client').stdout)?.[1]) >= 5;

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync('kubectl', args, { cwd: root, encoding: 'utf8' });
  return { status, stdout: stdout ?? '', stderr };
}

/**
 * Builds the objects of an overlay.
 * @throws Error with what kubectl says, warnings of outdated fields included
 */
export function buildOverlay(path: string): Manifest[] {
  const { status, stdout, stderr } = run('kustomize', join(root, path));
  if (status !== 0 || stderr !== '') throw new Error(`kubectl kustomize ${path}: ${stderr}`);
  return parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
}

/** Finds the object of a kind that there is one of, or of which a name is given. */
export function findManifest<M extends Manifest>(objects: readonly M[], kind: string, name?: string): M {
  const [found, ...others] = objects.filter(
    (object) => object.kind === kind && (name ?? object.metadata.name) === object.metadata.name,
  );
  if (found === undefined || others.length > 0)
    throw new Error(`there is not one object of the kind ${kind}`);
  return found;
}

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
