import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { postJson, send } from '../support/http/http.ts';
import { runProgram, startGateway, startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startRedisServer } from '../support/stores/redis-server.ts';
import { createDatabase } from '../support/stores/stores.ts';

/*
 * What `npm pack` makes, and the packages that the Dockerfiles install, without those of the embedded stores.
 */

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

interface LockFile {
  packages: Record<string, { dev?: boolean; optional?: boolean; devOptional?: boolean }>;
}

const lockFile = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as LockFile;
/** Folders of the packages that `npm ci --omit=dev --omit=optional` installs. */
const installed = Object.entries(lockFile.packages)
  .filter(([path, { dev, optional, devOptional }]) => path !== '' && !(dev ?? optional ?? devOptional))
  .map(([path]) => path);

describe('a production installation', () => {
  const directory = shared(temporaryDirectory);
  /** Resolves packages where the links are, and not where they point to. */
  const NODE_PRESERVE_SYMLINKS = '1';

  beforeAll(async () => {
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', directory.path], { cwd: root });
    const [archive = ''] = await readdir(directory.path);
    await run('tar', ['-xzf', archive, '--strip-components=1'], { cwd: directory.path });
    for (const path of installed) {
      const target = join(directory.path, path);
      await mkdir(target, { recursive: true });
      for (const name of await readdir(join(root, path))) {
        if (name !== 'node_modules') await symlink(join(root, path, name), join(target, name));
      }
    }
  });

  const script = (path: string) => join(directory.path, path);
  const env = (extra: Record<string, string> = {}) => ({
    NODE_PRESERVE_SYMLINKS,
    DATA_DIR: join(directory.path, 'data'),
    GATEWAY_PORT: '0',
    GATEWAY_ADMIN_PORT: '0',
    PETS_SERVICE_PORT: '0',
    PETS_SERVICE_URL: 'http://127.0.0.1:9',
    ...extra,
  });

  test('has none of the embedded stores, and one version of what they share with the rest', () => {
    expect(installed.length).toBeGreaterThan(100);
    const names = (paths: string[]) => paths.map((path) => path.split('node_modules/').at(-1));
    for (const name of ['js-redis-server', 'lua-redis-wasm', '@electric-sql/pglite', 'pglite-prisma-adapter'])
      expect(names(installed)).not.toContain(name);
    for (const name of ['ioredis', '@prisma/driver-adapter-utils'])
      expect(names(Object.keys(lockFile.packages)).filter((other) => other === name)).toEqual([name]);
  });

  test(
    'migrates the database, issues a key and serves requests',
    { tags: ['redis-server', 'postgresql'], timeout: 120_000 },
    async () => {
      await using redis = await startRedisServer();
      const stores = env({ REDIS_URL: redis.url, DATABASE_URL: await createDatabase() });
      expect(await runProgram([script('prisma/migrate.ts')], stores)).toMatchObject({ code: 0, stderr: '' });
      await using pets = await startPetsService({ ...stores, DEMO: 'false' }, { directory: directory.path });
      await using gateway = await startGateway(
        { ...stores, PETS_SERVICE_URL: pets.url, GATEWAY_WORKERS: '2' },
        { directory: directory.path },
      );
      const issue = ['keys', 'issue', '--plan', 'free', '--name', 'x', '--json'];
      const { stdout } = await runProgram([script('gateway/faces/command/main.ts'), ...issue], stores);
      const { key } = JSON.parse(stdout) as { key: string };
      expect((await postJson(`${gateway.url}/v1/pets`, key, { name: 'Rex', categoryId: 1 })).status).toBe(
        201,
      );
      expect((await send(`${gateway.url}/v1/pets`, { key })).json).toMatchObject([{ name: 'Rex' }]);
    },
  );
});
