import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join, matchesGlob } from 'node:path';
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
  const sent = await filesOfContext(context);
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
        await copy(text, image, { context, sent, stages });
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

/** Files that a build sends: those that the last matching line of .dockerignore does not exclude. */
export async function filesOfContext(context: string): Promise<string[]> {
  const text = await readFile(join(context, '.dockerignore'), 'utf8');
  const patterns = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const isSent = (path: string) => {
    let sent = true;
    for (const pattern of patterns) {
      const included = pattern.startsWith('!');
      if (matches(path, pattern.replace(/^!/, ''))) sent = included;
    }
    return sent;
  };
  const entries = await readdir(context, { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries) {
    // Excluded as a whole, and large.
    if (!isSent(entry.name) && ['node_modules', '.git', '.data'].includes(entry.name)) continue;
    if (!entry.isDirectory()) files.push(entry.name);
    else {
      const found = await readdir(join(context, entry.name), { recursive: true, withFileTypes: true });
      for (const { parentPath, name } of found.filter((other) => other.isFile()))
        files.push(join(parentPath, name).slice(context.length).replace(/^\//, ''));
    }
  }
  return files.filter(isSent);
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
  sent: readonly string[];
  stages: ReadonlyMap<string, string>;
}

async function copy(text: string, image: Image, { context, sent, stages }: Sources): Promise<void> {
  const words = text.split(' ');
  const [, stage] = /^--from=(.+)$/.exec(words[0] ?? '') ?? [];
  if (stage !== undefined) words.shift();
  const destination = words.pop() ?? '';
  const into = destination.startsWith('/')
    ? join(image.root, destination)
    : join(image.root, image.workdir, destination);
  for (const source of words) {
    if (stage !== undefined) {
      await cp(join(stages.get(stage) ?? '', source), into, { recursive: true });
      continue;
    }
    const files = sent.filter((path) => path === source || path.startsWith(`${source}/`));
    if (files.length === 0)
      throw new Error(`COPY ${source}: there is no such file, or .dockerignore excludes it`);
    for (const file of files) {
      const path =
        file === source
          ? join(into, destination.endsWith('/') ? basename(file) : '')
          : join(into, file.slice(source.length));
      await mkdir(dirname(path), { recursive: true });
      await cp(join(context, file), path);
    }
  }
}
