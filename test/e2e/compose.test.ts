import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
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

const omit = (variables: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(variables).filter(([key]) => key !== name));

describe('docker-compose.yml', () => {
  const passwords = { POSTGRES_PASSWORD: 'one', REDIS_PASSWORD: 'two' };
  /** @param variables content of the file .env */
  async function checkWith(variables: Record<string, string>) {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, '.env');
    const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}\n`);
    await writeFile(file, lines.join(''));
    const { HOME = '', PATH = '' } = process.env;
    const { status, stderr } = spawnSync('docker-compose', ['--env-file', file, 'config', '--quiet'], {
      cwd: root,
      encoding: 'utf8',
      env: { HOME, PATH },
    });
    return { status, stderr };
  }

  test('is accepted by docker-compose', { tags: ['docker-compose'] }, async () => {
    expect(await checkWith(passwords)).toEqual({ status: 0, stderr: '' });
  });

  test.each(['POSTGRES_PASSWORD', 'REDIS_PASSWORD'])(
    'has no default for %s, and says where to find how to set it',
    { tags: ['docker-compose'] },
    async (name) => {
      for (const variables of [{ ...passwords, [name]: '' }, omit(passwords, name)]) {
        const { status, stderr } = await checkWith(variables);
        expect(status).not.toBe(0);
        expect(stderr).toContain(name);
        expect(stderr).toContain('is not set, see Containers in gateway/OPERATIONS.md');
      }
    },
  );

  test(
    'gets passwords from the file that the command in OPERATIONS.md makes',
    { tags: ['openssl'] },
    async () => {
      await using directory = await temporaryDirectory();
      const [command = ''] = /^ *\(umask .+ > \.env\)$/m.exec(await read('gateway/OPERATIONS.md')) ?? [];
      expect(spawnSync('sh', ['-c', command], { cwd: directory.path }).status).toBe(0);
      const file = join(directory.path, '.env');
      expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600');
      const [, first, second] =
        /^POSTGRES_PASSWORD=([\da-f]{48})\nREDIS_PASSWORD=([\da-f]{48})\n$/.exec(
          await readFile(file, 'utf8'),
        ) ?? [];
      expect(first).toBeDefined();
      expect(second).not.toBe(first);
      for (const ignored of ['.gitignore', '.dockerignore'])
        expect((await read(ignored)).split('\n')).toContain('.env');
    },
  );

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
    expect(service('redis').command?.at(-1)).toMatch(/^appendonly yes$/m);
  });

  test.each(['gateway', 'pets-service'])(
    'the image of %s is slim, runs as node and has no development dependencies',
    async (name) => {
      const dockerfile = await read(`${name}/Dockerfile`);
      const final = dockerfile.slice(dockerfile.lastIndexOf('FROM '));
      expect(final).toMatch(/^FROM node:24-slim$/m);
      expect(final).toMatch(/^USER node$/m);
      expect(final).toContain('COPY --from=dependencies /app/node_modules node_modules');
      expect(dockerfile).toMatch(
        /AS dependencies\n(?:.+\n)+?RUN npm ci --omit=dev --omit=optional --ignore-scripts\n/,
      );
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
    const loadedOnDemand = new Set<string>();
    const packageOf = (specifier: string) => /^(@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? '';
    const sources = new Map<string, string>();
    for (const folder of ['gateway', 'pets-service', 'prisma']) {
      for (const path of await readdir(join(root, folder), { recursive: true })) {
        // Only the prisma command, a development dependency, reads its configuration.
        if (!path.endsWith('.ts') || path === 'prisma.config.ts' || path.startsWith('generated')) continue;
        sources.set(join(folder, path), await read(`${folder}/${path}`));
      }
    }
    const filesOnDemand = new Set<string>();
    for (const [path, source] of sources) {
      for (const [, specifier = ''] of source.matchAll(/\bimport\('([^']+)'\)/g)) {
        if (specifier.startsWith('.')) filesOnDemand.add(join(dirname(path), specifier));
        else loadedOnDemand.add(packageOf(specifier));
      }
    }
    for (const [path, source] of sources) {
      const packages = filesOnDemand.has(path) ? loadedOnDemand : imported;
      const withoutTypes = source.replaceAll(/^import type .+?;$/gms, '');
      for (const [, specifier = ''] of withoutTypes.matchAll(/\bfrom '([^'.][^']*)'/g)) {
        if (!isBuiltin(specifier)) packages.add(packageOf(specifier));
      }
    }
    expect(imported.size).toBeGreaterThan(10);
    expect([...imported].filter((name) => !(name in dependencies))).toEqual([]);
    // The embedded stores, without REDIS_URL or DATABASE_URL.
    expect([...loadedOnDemand].toSorted()).toEqual([
      '@electric-sql/pglite',
      'js-redis-server',
      'pglite-prisma-adapter',
    ]);
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
    const password = randomBytes(24).toString('hex');

    const toLocal = (text: string) =>
      replacements.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);

    /** Runs the command of the service or of its image, with no other environment than theirs. */
    async function launch(name: string): Promise<ChildProcess> {
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
      const child = spawn(program === 'node' ? process.execPath : program, args.map(toLocal), {
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
            env: { PATH: process.env['PATH'], REDISCLI_AUTH: password },
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
        ['@redis:6379', `@127.0.0.1:${redis}`],
        ['redis-port', String(redis)],
        [service('migration').environment?.['DATABASE_URL'] ?? '', databaseUrl.href],
        [service('redis').environment?.['REDISCLI_AUTH'] ?? '', password],
        ['${REDIS_PASSWORD}', password],
        // What the image does, and the shell sees of what is doubled for compose.
        ['docker-entrypoint.sh ', ''],
        ['$$', '$'],
        ['appendonly yes', `appendonly yes\nport ${redis}\nbind 127.0.0.1\ndir ${directory.path}`],
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
      const redis = await launch('redis');
      await untilHealthy('redis');
      expect(await readFile(`/proc/${redis.pid}/cmdline`, 'utf8')).not.toContain(password);
      const unauthenticated = new Redis(Number(toLocal('redis-port')), '127.0.0.1', {
        protocol: 2,
        enableReadyCheck: false,
      });
      await expect(unauthenticated.ping()).rejects.toThrow('NOAUTH');
      unauthenticated.disconnect();
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
          env: {
            REDIS_URL: toLocal(service('gateway').environment?.['REDIS_URL'] ?? ''),
            DATA_DIR: directory.path,
          },
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
