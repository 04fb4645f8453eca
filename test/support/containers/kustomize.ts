import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

/** An object of Kubernetes, as far as all kinds have the same fields. */
export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string> };
}

const root = fileURLToPath(new URL('../../..', import.meta.url));

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
