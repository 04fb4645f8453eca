import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { recordSecrets } from '../support/checks/evidence.ts';
import { composeService } from '../support/containers/compose-file.ts';
import { startContainer, type Container } from '../support/containers/container.ts';
import { buildImage, type Image } from '../support/containers/dockerfile.ts';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { startBrowser } from '../support/kits/browser.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { end } from '../support/programs.ts';
import { startPostgresServer } from '../support/stores/postgres-server.ts';

/*
 * The steps of the Dockerfiles and of docker-compose.yml, without an engine: the images are folders, and the containers
 * processes that have nothing but these folders, read-only, as an unprivileged user.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const password = /(?<=:\/\/\w+:)[^@]+/;

const directory = shared(temporaryDirectory);
const images = new Map<string, Image>();

function image(name: string): Image {
  const found = images.get(name);
  if (found === undefined) throw new Error(`there is no image of ${name}`);
  return found;
}

beforeAll(async () => {
  await Promise.all(
    ['gateway', 'pets-service'].map(async (name) => {
      const target = join(directory.path, 'builds', name);
      await mkdir(target, { recursive: true });
      images.set(name, await buildImage({ context: root, dockerfile: `${name}/Dockerfile`, target }));
    }),
  );
}, 300_000);

describe.each([
  // Of these, 11 are esbuild, which bundles the pages at the start.
  { name: 'gateway', maxMegabytes: 25 },
  { name: 'pets-service', maxMegabytes: 20 },
])('the image of $name', ({ name, maxMegabytes }) => {
  const files = async () => {
    const { root: folder, workdir } = image(name);
    const entries = await readdir(join(folder, workdir), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, workdir).length + 1));
  };

  test('holds what its programs load, and little else', async () => {
    const { root: folder, workdir } = image(name);
    let bytes = 0;
    for (const file of await files()) bytes += (await stat(join(folder, workdir, file))).size;
    expect(bytes / 1e6).toBeLessThan(maxMegabytes);
    expect(bytes / 1e6).toBeGreaterThan(5);
  });

  test('has no package that only development needs', async () => {
    const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
    };
    const needless = Object.entries(packages)
      // The program of esbuild comes as a package of its platform, which is optional: it bundles the pages.
      .filter(([path]) => path !== '' && !path.startsWith('node_modules/@esbuild/'))
      .filter(([, { dev, optional, devOptional }]) => dev ?? optional ?? devOptional)
      .map(([path]) => `${path}/`);
    const found = await files();
    expect(found.filter((file) => needless.some((folder) => file.startsWith(folder)))).toEqual([]);
    expect(found).toContain('node_modules/express/package.json');
  });

  test('runs as node, and starts the service itself', () => {
    expect(image(name)).toMatchObject({ user: 'node', env: { NODE_ENV: 'production' } });
    expect(image(name).command).toEqual(expect.arrayContaining(['node', `${name}/server.ts`]));
  });
});

describe(
  'the services of docker-compose.yml',
  { tags: ['mount-namespaces', 'redis-server', 'postgresql', 'openssl', 'chromium'], timeout: 120_000 },
  () => {
    const postgres = shared(startPostgresServer);
    let secrets: string;
    let adminUrl: string;
    /** Local values for the host names and ports of compose. */
    let replacements: [from: string, to: string][];
    const stack = shared(() => Promise.resolve(new AsyncDisposableStack()));
    let started = 0;

    const toLocal = (text: string) =>
      replacements.reduce((replaced, [from, to]) => replaced.replaceAll(from, to), text);
    const localPort = (port: string) => `http://127.0.0.1:${toLocal(port)}`;

    /** Runs a command in a container of the service, by default its own. */
    async function start(name: string, command?: readonly string[]): Promise<Container> {
      const service = composeService(name);
      const built = image(service.build?.dockerfile.split('/')[0] ?? '');
      const env = Object.entries(service.environment ?? {});
      const root = join(directory.path, `container-${(started += 1)}`);
      const own = join(directory.path, `secrets-${started}`);
      await mkdir(own);
      for (const secret of service.secrets ?? []) await cp(join(secrets, secret), join(own, secret));
      const container = await startContainer(built, {
        command: (command ?? service.command ?? built.command).map(toLocal),
        env: Object.fromEntries(env.map(([key, value]) => [key, toLocal(value)])),
        secrets: own,
        root,
      });
      stack.defer(async () => {
        container.child.kill('SIGKILL');
        await container.exited;
      });
      return container;
    }

    /** Runs a command to its end. @returns its output */
    async function runIn(name: string, ...command: string[]): Promise<string> {
      const container = await start(name, command);
      expect({ code: await container.exited, output: container.output() }).toMatchObject({ code: 0 });
      return container.output();
    }

    const runOps = (words: string) =>
      runIn('gateway', 'node', 'gateway/faces/command/main.ts', ...words.split(' '));

    async function untilHealthy(name: string): Promise<void> {
      const [kind, ...command] = composeService(name).healthcheck?.test ?? [];
      expect(kind).toBe('CMD');
      await expect
        .poll(async () => (await start(name, command)).exited, { timeout: 20_000, interval: 200 })
        .toBe(0);
    }

    beforeAll(async () => {
      secrets = join(directory.path, 'secrets');
      const made = spawnSync('sh', [join(root, 'gateway/deploy/containers/make-secrets.sh'), secrets]);
      expect(made.status).toBe(0);
      adminUrl = await postgres.createDatabase('administration');
      const { hostname, port, username } = new URL(adminUrl);
      const [redis, gateway, admin, pets] = await Promise.all([
        freePort(),
        freePort(),
        freePort(),
        freePort(),
      ]);
      replacements = [
        ['http://pets-service:3001', `http://127.0.0.1:${pets}`],
        ['${GATEWAY_WORKERS:-}', '2'],
        ['0.0.0.0', '127.0.0.1'],
        ['8080', String(gateway)],
        ['9090', String(admin)],
        ['3001', String(pets)],
        ['6379', String(redis)],
      ];
      for (const name of await readdir(secrets)) {
        const path = join(secrets, name);
        const text = await readFile(path, 'utf8');
        const local = text
          .replace('@redis:6379', `@127.0.0.1:${redis}`)
          .replace('@postgres:5432', `@127.0.0.1:${port}`)
          // Redis knows it from 7.2 on.
          .replaceAll(hasWaitaof() ? /$^/g : / \+(?:waitaof|client\|setinfo)(?= |$)/gm, '');
        await writeFile(path, local);
      }
      const environment = composeService('postgres').environment ?? {};
      const roles = spawnSync(join(root, 'prisma/create-roles.sh'), {
        encoding: 'utf8',
        env: {
          PATH: process.env['PATH'],
          ...Object.fromEntries(
            Object.entries(environment).map(([key, value]) => [key, value.replace('/run/secrets', secrets)]),
          ),
          POSTGRES_USER: username,
          PGHOST: hostname,
          PGPORT: port,
        },
      });
      expect(roles).toMatchObject({ status: 0, stderr: '' });
      const [program = '', ...args] = composeService('redis').command ?? [];
      const server = spawn(
        program,
        args
          .map((arg) => arg.replace('/run/secrets', secrets))
          .concat(`--port ${redis} --bind 127.0.0.1 --dir ${directory.path}`.split(' ')),
        { stdio: 'ignore' },
      );
      stack.defer(() => end(server));
    });

    const hasWaitaof = () => {
      const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' });
      const [, major = 0, minor = 0] = /v=(\d+)\.(\d+)/.exec(stdout) ?? [];
      return Number(major) > 7 || (Number(major) === 7 && Number(minor) >= 2);
    };

    test('run in a container that can write nothing and do nothing', async () => {
      const script = 'id -u; grep -h CapBnd /proc/self/status; grep NoNewPrivs /proc/self/status';
      expect(await runIn('gateway', 'sh', '-c', script)).toMatch(
        /^1000\nCapBnd:\s+0{16}\nNoNewPrivs:\s+1\n$/,
      );
      for (const path of ['/x', '/tmp/x', '/app/x', '/run/secrets/x'])
        await expect((await start('gateway', ['touch', path])).exited).resolves.toBe(1);
    });

    test('Redis lets in the gateway and the health check, and nobody else', async () => {
      const [kind, program = '', ...args] = composeService('redis').healthcheck?.test ?? [];
      expect(kind).toBe('CMD');
      const client = (...more: string[]) =>
        spawnSync(program, ['-p', toLocal('6379'), ...more], { encoding: 'utf8' });
      await expect.poll(() => client(...args).status).toBe(0);
      expect(client(...args.slice(0, -1), 'get', 'gw:plan:free').stderr).toContain('NOPERM');
      expect(client('ping').stdout).toContain('NOAUTH');
      const [secret = ''] = password.exec(await readFile(join(secrets, 'redis-url'), 'utf8')) ?? [];
      const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
      expect(stdout).toContain('redis-server');
      expect(stdout).not.toContain(secret);
    });

    test('migrate, start and serve requests', async () => {
      expect(await runIn('migration', ...(composeService('migration').command ?? []))).toMatch(
        /^applied .+\n$/,
      );
      const pets = await start('pets-service');
      const gateway = await start('gateway');
      await untilHealthy('pets-service');
      await untilHealthy('gateway');

      const output = await runOps('keys issue --plan free --name x --json');
      recordSecrets(output);
      const { key } = JSON.parse(output) as { key: string };
      const url = `${localPort('8080')}/v1/pets`;
      expect((await send(url, { key })).json).toEqual([]);
      expect((await postJson(url, key, { name: 'Rex', categoryId: 1 })).status).toBe(201);
      expect((await send(url, { key })).json).toMatchObject([{ name: 'Rex' }]);
      for (const path of ['/openapi.json', '/docs', '/docs/changelog'])
        expect({ path, status: (await send(localPort('8080') + path)).status }).toEqual({
          path,
          status: 200,
        });
      expect((await send(`${localPort('3001')}/openapi.json`)).status).toBe(200);

      const printed = await runOps('console --as Ada --json');
      recordSecrets(printed);
      const { link } = JSON.parse(printed) as { link: string };
      expect(new URL(link).origin).toBe(`http://localhost:${toLocal('9090')}`);
      await using browser = await startBrowser();
      const observed = await browser.open(link);
      for (const name of ['Overview', 'Customers', 'Plans', 'Usage', 'Security']) {
        await observed.page.getByRole('link', { name, exact: true }).click();
        await observed.page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
      }
      // No file that a page loads is missing in the image.
      expect(observed.complaints).toEqual([]);
      await observed.page.context().close();

      for (const { child, exited } of [gateway, pets]) {
        child.kill('SIGTERM');
        expect(await exited).toBe(0);
      }
      expect(gateway.output() + pets.output()).not.toMatch(/"level":[45]0|Warning/);
    });

    test('the database role of the pets service can use the tables, and not change them', async () => {
      const [url = ''] = (await readFile(join(secrets, 'database-url'), 'utf8')).split('\n');
      const client = new pg.Client(url);
      await client.connect();
      stack.defer(() => client.end());
      await client.query("INSERT INTO pets (name, category_id) VALUES ('Mia', 1)");
      for (const statement of [
        'DELETE FROM pets',
        'UPDATE pets SET category_id = 2',
        'ALTER TABLE pets ADD COLUMN x int',
        'CREATE TABLE other (id int)',
        'SELECT * FROM _prisma_migrations',
        'CREATE ROLE other',
        'CREATE DATABASE other',
      ])
        await expect(client.query(statement), statement).rejects.toThrow(/permission denied|must be owner/);
      const admin = new pg.Client(adminUrl);
      await admin.connect();
      const { rows } = await admin.query(
        "SELECT rolname, rolsuper, rolcanlogin, rolpassword LIKE 'SCRAM%' AS scram FROM pg_authid WHERE rolname LIKE 'pets%' ORDER BY 1",
      );
      await admin.end();
      const common = { rolsuper: false, rolcanlogin: true, scram: true };
      expect(rows).toEqual([
        { rolname: 'pets', ...common },
        { rolname: 'pets_owner', ...common },
      ]);
    });
  },
);
