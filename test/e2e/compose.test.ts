import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { recordOutput, recordSecrets } from '../support/checks/evidence.ts';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { createDatabase } from '../support/stores/stores.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface ComposeService {
  image?: string;
  build?: { dockerfile: string };
  command?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
}

const read = (path: string) => readFile(join(root, path), 'utf8');
const { services } = parse(await read('docker-compose.yml')) as { services: Record<string, ComposeService> };

function service(name: string): ComposeService {
  const found = services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

describe('docker-compose.yml', () => {
  test('is accepted by docker-compose', { tags: ['docker-compose'] }, () => {
    const { status, stderr } = spawnSync('docker-compose', ['config', '--quiet'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  test('publishes only the gateway, and checks the health of every long-running service', () => {
    expect(Object.keys(services).toSorted()).toEqual([
      'gateway',
      'migration',
      'pets-service',
      'postgres',
      'redis',
    ]);
    const published = Object.entries(services).filter(([, { ports }]) => ports !== undefined);
    expect(published.map(([name]) => name)).toEqual(['gateway']);
    const unchecked = Object.entries(services).filter(([, { healthcheck }]) => healthcheck === undefined);
    expect(unchecked.map(([name]) => name)).toEqual(['migration']);
    expect(service('redis').command).toEqual(expect.arrayContaining(['--appendonly', 'yes']));
  });

  test.each(['gateway', 'pets-service'])(
    'the image of %s is slim, runs as node and has no development dependencies',
    async (name) => {
      const dockerfile = await read(`${name}/Dockerfile`);
      const final = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
      expect(final).toMatch(/^FROM node:24-slim$/m);
      expect(final).toMatch(/^USER node$/m);
      expect(final).toContain('COPY --from=dependencies /app/node_modules node_modules');
      expect(dockerfile).toMatch(/AS dependencies\n(?:.+\n)+?RUN npm ci --omit=dev --ignore-scripts\n/);
      for (const [, sources = ''] of final.matchAll(/^COPY (?!--from)(.+) \S+$/gm)) {
        for (const source of sources.split(' ')) expect(existsSync(join(root, source)), source).toBe(true);
      }
    },
  );

  test('the code in the images imports no development dependency', async () => {
    const { dependencies } = JSON.parse(await read('package.json')) as {
      dependencies: Record<string, string>;
    };
    const imported = new Set<string>();
    for (const folder of ['gateway', 'pets-service', 'prisma']) {
      for (const path of await readdir(join(root, folder), { recursive: true })) {
        // Only the prisma command, a development dependency, reads its configuration.
        if (!path.endsWith('.ts') || path === 'prisma.config.ts' || path.startsWith('generated')) continue;
        const source = await read(`${folder}/${path}`);
        for (const [, specifier = ''] of source.matchAll(/(?:\bfrom |\bimport\()'([^'.][^']*)'/g)) {
          if (!isBuiltin(specifier)) imported.add(/^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '');
        }
      }
    }
    expect(imported.size).toBeGreaterThan(10);
    expect([...imported].filter((name) => !(name in dependencies))).toEqual([]);
  });
});

describe(
  'the commands of docker-compose.yml, run as local processes',
  { tags: ['redis-server', 'postgresql'] },
  () => {
    let directory: TemporaryDirectory;
    const running: ChildProcess[] = [];
    /** Local values for the host names, ports and volumes of compose. */
    let replacements: [from: string, to: string][];

    const toLocal = (text: string) =>
      replacements.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);

    /** Runs the command of the service or of its image, with no other environment than theirs. */
    async function launch(name: string, extraArguments: string[] = []): Promise<ChildProcess> {
      const { command, build, environment = {} } = service(name);
      const dockerfile = build === undefined ? '' : await read(build.dockerfile);
      const [program = '', ...args] =
        command ?? (JSON.parse(/^CMD (.+)$/m.exec(dockerfile)?.[1] ?? '[]') as string[]);
      const imageVariables = (/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? '').split(' ').filter(Boolean);
      const imageEnvironment = Object.fromEntries(imageVariables.map((pair) => pair.split('='))) as Record<
        string,
        string
      >;
      const env = Object.fromEntries(
        Object.entries({ ...imageEnvironment, ...environment }).map(([key, value]) => [key, toLocal(value)]),
      );
      const child = spawn(program === 'node' ? process.execPath : program, [...args, ...extraArguments], {
        cwd: root,
        env: { PATH: process.env['PATH'], ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      child.stdout?.on('data', (chunk: Buffer) => recordOutput(chunk.toString()));
      running.push(child);
      return child;
    }

    const exitOf = (child: ChildProcess) =>
      new Promise<number | null>((resolve) => {
        child.on('exit', resolve);
      });

    /** Runs the health check of the service until it succeeds. */
    async function untilHealthy(name: string): Promise<void> {
      const [kind, program = '', ...args] = service(name).healthcheck?.test ?? [];
      expect(kind).toBe('CMD');
      const check = async () => {
        const extra = program === 'redis-cli' ? ['-p', toLocal('redis-port')] : [];
        const child = spawn(
          program === 'node' ? process.execPath : program,
          [...extra, ...args.map(toLocal)],
          {
            stdio: 'ignore',
          },
        );
        return exitOf(child);
      };
      await expect.poll(check, { timeout: 15_000, interval: 200 }).toBe(0);
    }

    beforeAll(async () => {
      directory = await temporaryDirectory();
      const databaseUrl = new URL(await createDatabase());
      const [redis, gateway, admin, pets] = await Promise.all([
        freePort(),
        freePort(),
        freePort(),
        freePort(),
      ]);
      replacements = [
        ['redis://redis:6379', `redis://127.0.0.1:${redis}`],
        ['redis-port', String(redis)],
        ['postgresql://pets:${POSTGRES_PASSWORD:-pets}@postgres:5432/pets', databaseUrl.href],
        // Independent of the number of cores.
        ['${GATEWAY_WORKERS:-}', '2'],
        ['http://pets-service:3001', `http://127.0.0.1:${pets}`],
        ['0.0.0.0', '127.0.0.1'],
        ['8080', String(gateway)],
        ['9090', String(admin)],
        ['3001', String(pets)],
        ['/data', directory.path],
        ['/public', directory.path],
      ];
    });

    afterAll(async () => {
      for (const child of running.toReversed()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = exitOf(child);
        child.kill('SIGTERM');
        await exited;
      }
      await directory[Symbol.asyncDispose]();
    });

    test('start in the order of depends_on, and serve requests', { timeout: 60_000 }, async () => {
      await launch('redis', [
        '--port',
        toLocal('redis-port'),
        '--bind',
        '127.0.0.1',
        '--dir',
        directory.path,
      ]);
      await untilHealthy('redis');
      expect(await exitOf(await launch('migration'))).toBe(0);

      expect(service('gateway').depends_on).toEqual({ redis: { condition: 'service_healthy' } });
      await launch('gateway');
      await untilHealthy('gateway');

      expect(service('pets-service').depends_on).toEqual({
        migration: { condition: 'service_completed_successfully' },
        gateway: { condition: 'service_healthy' },
      });
      await launch('pets-service');
      await untilHealthy('pets-service');

      const ops = spawnSync(
        process.execPath,
        ['gateway/ops/main.ts', 'keys', 'issue', '--plan', 'free', '--name', 'compose', '--json'],
        {
          cwd: root,
          encoding: 'utf8',
          env: { REDIS_URL: toLocal('redis://redis:6379'), DATA_DIR: directory.path },
        },
      );
      recordSecrets(ops.stdout);
      const { key } = JSON.parse(ops.stdout) as { key: string };
      const pets = `http://127.0.0.1:${toLocal('8080')}/v1/pets`;
      expect((await send(pets, { key })).json).toEqual([]);
      expect((await postJson(pets, key, { name: 'Rex', categoryId: 1 })).status).toBe(201);
      expect((await send(pets, { key })).json).toMatchObject([{ name: 'Rex' }]);
    });
  },
);
