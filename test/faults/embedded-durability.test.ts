import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findPrivateKey } from '../../gateway/upstream/internal-token-keys.ts';
import { issueServiceToken } from '../../gateway/upstream/internal-token.ts';
import { postJson } from '../support/http/http.ts';
import { startPetsService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

/** Runs before the service, and appends the path of each file that Node syncs to a list. */
function recordSyncs(list: string): string {
  const script = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { fsyncSync } = fs;
    fs.fsyncSync = (file) => {
      fsyncSync(file);
      fs.appendFileSync(${JSON.stringify(list)}, fs.readlinkSync('/proc/self/fd/' + file) + '\\n');
    };
    syncBuiltinESMExports();`;
  return `--import=data:text/javascript,${encodeURIComponent(script)}`;
}

/** What a power cut leaves cannot be tested, but what is on the disk before a response can. */
describe('the embedded PostgreSQL', { tags: ['linux'] }, () => {
  let stack: AsyncDisposableStack;
  let service: Service;
  let token: string;
  let syncedPaths: () => string[];

  beforeAll(async () => {
    await using starting = new AsyncDisposableStack();
    const { path } = starting.use(await temporaryDirectory());
    const list = join(path, 'synced');
    syncedPaths = () => (existsSync(list) ? readFileSync(list, 'utf8').split('\n') : []);
    service = starting.use(
      await startPetsService({ DATA_DIR: join(path, 'data'), NODE_OPTIONS: recordSyncs(list) }),
    );
    token = issueServiceToken(findPrivateKey(undefined, join(path, 'data')), 'tests', 600);
    stack = starting.move();
  });

  afterAll(() => stack?.disposeAsync());

  test('is on the disk, with its name, before the service is ready', () => {
    const paths = syncedPaths();
    for (const name of ['data/postgres.new/PG_VERSION', 'data/postgres.new/base', 'data']) {
      expect(paths.some((path) => path.endsWith(`/${name}`))).toBe(true);
    }
    expect(service.output()).toContain('synced to disk at each commit');
  });

  test.each([
    ['a create', () => ({})],
    ['a create with an Idempotency-Key', (number: number) => ({ 'Idempotency-Key': `key-${number}` })],
  ])('%s is on the disk before its response', async (_name, headers) => {
    const walSyncs = () => syncedPaths().filter((path) => path.includes('/postgres/pg_wal/')).length;
    for (let number = 0; number < 20; number += 1) {
      const before = walSyncs();
      const pet = { name: `Pet ${number}`, categoryId: 1 };
      const { status } = await postJson(`${service.url}/v1/pets`, token, pet, headers(number));
      expect(status).toBe(201);
      expect(walSyncs()).toBeGreaterThan(before);
    }
  });
});
