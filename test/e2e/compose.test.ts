import { spawnSync } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { composeFile, composeService } from '../support/containers/compose-file.ts';
import { drainMs, settingsOf } from '../support/containers/settings.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/*
 * What can be checked of docker-compose.yml and the Dockerfiles without running them. images.long.test.ts runs them.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFile(join(root, path), 'utf8');
const { services, secrets, networks } = composeFile;
const names = Object.keys(services);

describe('docker-compose.yml', () => {
  test('is accepted by docker-compose', { tags: ['docker-compose'] }, () => {
    const { HOME = '', PATH = '' } = process.env;
    const { status, stderr } = spawnSync('docker-compose', ['config', '--quiet'], {
      cwd: root,
      encoding: 'utf8',
      env: { HOME, PATH },
    });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  test('names only settings that exist', async () => {
    const known: Record<string, readonly string[]> = {
      ...settingsOf,
      migration: (await read('prisma/database-url.ts')).split("'"),
      postgres: (await read('prisma/create-roles.sh')).split(/\W/).concat('POSTGRES_PASSWORD_FILE'),
    };
    for (const [name, settings] of Object.entries(known))
      expect(settings, name).toEqual(
        expect.arrayContaining(Object.keys(composeService(name).environment ?? {})),
      );
  });

  test('holds no password, and gives each service only its own secrets', () => {
    expect(JSON.stringify(services)).not.toMatch(/:\/\/[^/"]*@|PASSWORD"/);
    for (const name of names) {
      const service = composeService(name);
      const used = JSON.stringify([service.command, service.environment]).matchAll(
        /\/run\/secrets\/([\w.-]+)/g,
      );
      expect(Array.from(used, ([, secret = '']) => secret).toSorted(), name).toEqual(
        (service.secrets ?? []).toSorted(),
      );
    }
    expect(Object.keys(secrets).toSorted()).toEqual(
      [...new Set(names.flatMap((name) => composeService(name).secrets ?? []))].toSorted(),
    );
  });

  test(
    'finds its secrets where the script makes them, which neither git nor an image takes',
    { tags: ['openssl'] },
    async () => {
      await using directory = await temporaryDirectory();
      const script = join(root, 'gateway/deploy/containers/make-secrets.sh');
      const make = () => spawnSync('sh', [script], { cwd: directory.path, encoding: 'utf8' });
      expect(make()).toMatchObject({ status: 0, stdout: '', stderr: '' });
      for (const [name, { file }] of Object.entries(secrets)) {
        expect(file).toBe(`.secrets/${name}`);
        expect((await readFile(join(directory.path, file), 'utf8')).trim()).not.toBe('');
      }
      const folder = join(directory.path, '.secrets');
      expect(((await stat(folder)).mode & 0o777).toString(8)).toBe('700');
      const passwords = ['postgres-password', 'pets-owner-password', 'pets-password'];
      const texts = await Promise.all(passwords.map((name) => readFile(join(folder, name), 'utf8')));
      expect(new Set(texts).size).toBe(passwords.length);
      for (const text of texts) expect(text).toMatch(/^[\da-f]{48}\n$/);

      const before = await readFile(join(folder, 'redis-url'), 'utf8');
      expect(make()).toMatchObject({
        status: 1,
        stderr: '.secrets exists and is left as it is: the stores know its passwords\n',
      });
      expect(await readFile(join(folder, 'redis-url'), 'utf8')).toBe(before);
      for (const ignored of ['.gitignore', '.dockerignore'])
        expect((await read(ignored)).replaceAll('/', '').split('\n')).toContain('.secrets');
    },
  );

  test.each(names)(
    '%s cannot change its image, gain privileges, dump its memory or use up the machine',
    (name) => {
      const service = composeService(name);
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        ulimits: { core: 0 },
        logging: { options: { 'max-size': '10m', 'max-file': '5' } },
        cpus: expect.any(Number),
        mem_limit: expect.stringMatching(/^\d+[mg]$/),
        pids_limit: expect.any(Number),
      });
      // An image that is built here says so itself.
      expect(service.build ?? service.user).toBeDefined();
    },
  );

  test('publishes only the gateway, and lets each store be reached by its own services', () => {
    const published = names.filter((name) => composeService(name).ports !== undefined);
    expect(published).toEqual(['gateway']);
    const members = (network: string) =>
      names.filter((name) => composeService(name).networks.includes(network)).toSorted();
    expect(Object.fromEntries(Object.keys(networks).map((name) => [name, members(name)]))).toEqual({
      edge: ['gateway'],
      redis: ['gateway', 'redis'],
      pets: ['gateway', 'pets-service'],
      database: ['migration', 'pets-service', 'postgres'],
    });
    const internal = Object.entries(networks).filter(([, network]) => network?.internal === true);
    expect(internal.map(([name]) => name)).toEqual(['redis', 'pets', 'database']);
  });

  test('lets a service finish its requests before it is killed', () => {
    expect(drainMs).toBe(32_000);
    for (const name of ['gateway', 'pets-service']) {
      expect(Number.parseInt(composeService(name).stop_grace_period ?? '', 10) * 1000).toBeGreaterThan(
        drainMs,
      );
    }
  });

  test('names exact versions of all images, of Node the one that the project has', async () => {
    const { devDependencies } = JSON.parse(await read('package.json')) as {
      devDependencies: Record<string, string>;
    };
    const node = `node:${devDependencies['node']}-trixie-slim`;
    for (const name of ['gateway', 'pets-service']) {
      const dockerfile = await read(`${name}/Dockerfile`);
      expect(dockerfile).toContain(`ARG NODE_IMAGE=${node}\n`);
      expect(dockerfile.match(/^FROM .+$/gm)).toEqual(['FROM ${NODE_IMAGE} AS files', 'FROM ${NODE_IMAGE}']);
      expect(composeService(name).build?.args['NODE_IMAGE']).toBe(`\${NODE_IMAGE:-${node}}`);
    }
    for (const name of ['redis', 'postgres'])
      expect(composeService(name).image).toMatch(/^\$\{[A-Z]+_IMAGE:-\w+:\d+\.\d+[\d.]*-alpine\}$/);
  });
});
