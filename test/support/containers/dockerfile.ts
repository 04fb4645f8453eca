import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob, relative } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An image as a folder: what a container of it has at `/`, without the files of the base image. */
export interface Image {
  root: string;
  /** Absolute path in the container. */
  workdir: string;
  env: Record<string, string>;
  user: string;
  command: string[];
}

interface Build {
  /** Folder that the build sends, less what its .dockerignore names. */
  context: string;
  /** Path of the Dockerfile in the context. */
  dockerfile: string;
  /** Empty folder that the stages are made in. */
  target: string;
}

/** Command that the image of a Dockerfile runs, with its arguments. */
export async function imageCommand(dockerfile: string): Promise<string[]> {
  const steps = parseDockerfile(await readFile(dockerfile, 'utf8'));
  return parseCommand(steps.findLast(({ instruction }) => instruction === 'CMD')?.text ?? '[]');
}

const parseCommand = (text: string) => JSON.parse(text) as string[];

/**
 * Performs the steps of a Dockerfile without an engine, on the Node of the tests in place of the base image. Knows the
 * instructions that the project's Dockerfiles have, and refuses others.
 */
export async function buildImage({ context, dockerfile, target }: Build): Promise<Image> {
  const steps = parseDockerfile(await readFile(join(context, dockerfile), 'utf8'));
  const isSent = await contextFilter(context);
  const stages = new Map<string, string>();
  let image: Image = { root: '', workdir: '/', env: {}, user: 'root', command: [] };
  for (const [index, { instruction, text }] of steps.entries()) {
    switch (instruction) {
      case 'ARG':
      case 'EXPOSE':
        break;
      case 'FROM': {
        const [, stage = `stage-${index}`] = /\bAS (\S+)$/.exec(text) ?? [];
        const root = join(target, stage);
        await mkdir(root, { recursive: true });
        stages.set(stage, root);
        image = { root, workdir: '/', env: {}, user: 'root', command: [] };
        break;
      }
      case 'ENV':
        for (const pair of text.split(' ')) {
          const [name = '', value = ''] = pair.split('=');
          image.env[name] = value;
        }
        break;
      case 'WORKDIR':
        image.workdir = text;
        await mkdir(join(image.root, text), { recursive: true });
        break;
      case 'USER':
        image.user = text;
        break;
      case 'CMD':
        image.command = parseCommand(text);
        break;
      case 'RUN':
        await runCommand(text, join(image.root, image.workdir));
        break;
      case 'COPY':
        await copy(text, image, { context, isSent, stages });
        break;
      default:
        throw new Error(`${dockerfile}: ${instruction} is not known here`);
    }
  }
  return image;
}

/** Runs it with the Node of the tests first on the PATH, as in the base image, and with what npm needs here. */
async function runCommand(command: string, directory: string): Promise<void> {
  const { NODE_ENV: _testing, PATH = '', ...env } = process.env;
  await run('sh', ['-c', command], {
    cwd: directory,
    env: { ...env, PATH: `${dirname(process.execPath)}:${PATH}` },
    maxBuffer: 100 * 1024 * 1024,
  });
}

function parseDockerfile(text: string): { instruction: string; text: string }[] {
  return text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, instruction = '', rest = ''] = /^(\S+)\s+(.+)$/.exec(line) ?? [];
      return { instruction, text: rest };
    });
}

/** @returns whether a build sends a path: unless the last matching line of .dockerignore excludes it */
async function contextFilter(context: string): Promise<(path: string) => boolean> {
  const text = await readFile(join(context, '.dockerignore'), 'utf8');
  const patterns = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return (path) => {
    const last = patterns.findLast((pattern) => matches(path, pattern.replace(/^!/, '')));
    return last === undefined || last.startsWith('!');
  };
}

/** A pattern matches what it names and everything below. */
function matches(path: string, pattern: string): boolean {
  const parts = path.split('/');
  return parts.some((_part, index) =>
    matchesGlob(parts.slice(0, index + 1).join('/'), pattern.replace(/\/$/, '')),
  );
}

interface Sources {
  context: string;
  isSent: (path: string) => boolean;
  stages: ReadonlyMap<string, string>;
}

async function copy(text: string, image: Image, { context, isSent, stages }: Sources): Promise<void> {
  const words = text.split(' ');
  const [, stage] = /^--from=(.+)$/.exec(words[0] ?? '') ?? [];
  if (stage !== undefined) words.shift();
  const destination = words.pop() ?? '';
  const into = join(image.root, destination.startsWith('/') ? '' : image.workdir, destination);
  for (const source of words) {
    if (stage === undefined && !isSent(source)) throw new Error(`COPY ${source}: .dockerignore excludes it`);
    const from = join(stage === undefined ? context : (stages.get(stage) ?? ''), source);
    const isFile = (await stat(from)).isFile();
    await cp(from, isFile && destination.endsWith('/') ? join(into, basename(source)) : into, {
      recursive: true,
      filter: (path) => stage !== undefined || isSent(relative(context, path)),
    });
  }
}
