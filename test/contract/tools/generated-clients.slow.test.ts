import { spawnSync } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { codeBlock } from '../../support/code-block.ts';
import { startBothServices } from '../../support/kits/both-services.ts';
import { runProgram } from '../../support/kits/service.ts';
import { shared } from '../../support/kits/shared.ts';
import { temporaryDirectory } from '../../support/kits/temporary-directory.ts';
import type { ClientApi, ClientOptions, Pet, Result } from './clients/client-api.ts';
import { runTool, toolPackages } from './tools.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** What a careful developer of a client sets. */
const strictOptions = {
  target: 'es2022',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2024', 'dom', 'dom.iterable'],
  types: [],
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  allowImportingTsExtensions: true,
};

const orvalConfig = {
  pets: {
    input: 'openapi.json',
    output: {
      target: 'generated/client.ts',
      client: 'fetch',
      override: { mutator: { path: './orval-fetch.ts', name: 'orvalFetch' } },
    },
  },
};

const generators = [
  { name: 'openapi-fetch', tool: 'openapi-typescript', args: ['openapi.json', '-o', 'generated/schema.ts'] },
  {
    name: 'hey-api',
    tool: 'openapi-ts',
    args: ['-i', 'openapi.json', '-o', 'generated', '--client', '@hey-api/client-fetch'],
  },
  { name: 'orval', tool: 'orval', args: ['--config', 'orval.config.json'] },
  {
    name: 'swagger-typescript-api',
    tool: 'swagger-typescript-api',
    args: ['generate', '-p', 'openapi.json', '-o', 'generated', '-n', 'client.ts', '--enum-style', 'union'],
  },
];

describe('a generated client', { tags: ['api-tools'] }, () => {
  let description: string;

  const services = shared(startBothServices);
  const directory = shared(temporaryDirectory);
  beforeAll(async () => {
    // The way to 64-bit ids that CLIENTS.md documents.
    const sed = /sed '([^']+)'/.exec(await codeBlock('gateway/CLIENTS.md', 'sh', 'sed'))?.[1] ?? '';
    const served = await (await fetch(`${services.gateway.url}/openapi.json`)).text();
    const patched = spawnSync('sed', [sed], { input: served, encoding: 'utf8' });
    description = patched.stdout;
    expect(description).not.toContain('"type":"integer","format":"int64"');
  });

  describe.each(generators)('of $name', ({ name, tool, args }) => {
    let api: ClientApi;
    let createApi: (options: ClientOptions) => ClientApi;

    beforeAll(async () => {
      const folder = join(directory.path, name);
      const adapters = fileURLToPath(new URL('clients', import.meta.url));
      await mkdir(join(folder, 'generated'), { recursive: true });
      await symlink(toolPackages, join(folder, 'node_modules'));
      for (const file of ['client-api.ts', `${name}.ts`, ...(name === 'orval' ? ['orval-fetch.ts'] : [])]) {
        await cp(join(adapters, file), join(folder, file));
      }
      await writeFile(join(folder, 'openapi.json'), description);
      await writeFile(join(folder, 'orval.config.json'), JSON.stringify(orvalConfig));
      const stringIds = await codeBlock('gateway/CLIENTS.md', 'ts', 'function fetchWithStringIds');
      await writeFile(join(folder, 'fetch-with-string-ids.ts'), stringIds);
      await writeFile(
        join(folder, 'tsconfig.json'),
        JSON.stringify({ compilerOptions: strictOptions, include: ['*.ts'] }),
      );
      await runTool(tool, args, folder);
      await runTool(
        'esbuild',
        [`${name}.ts`, '--bundle', '--platform=node', '--format=esm', '--outfile=bundle.mjs'],
        folder,
      );
      ({ createApi } = (await import(pathToFileURL(join(folder, 'bundle.mjs')).href)) as {
        createApi: typeof createApi;
      });
      api = createApi({ url: `${services.gateway.url}/v1`, key: services.key });
    });

    const created = (result: Result<Pet>): Pet => {
      if (!('data' in result)) throw new Error(`${result.status} ${result.error.code}`);
      return result.data;
    };

    test('compiles with strict options', async () => {
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
      const result = await runProgram([tsc, '-p', join(directory.path, name)]);
      expect(result).toEqual({ code: 0, stdout: '', stderr: '' });
    });

    test('lists all pages, each pet once', async () => {
      const all: Pet[] = [];
      let cursor: string | undefined;
      do {
        const result = await api.list({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
        if (!('data' in result)) throw new Error(result.error.code);
        all.push(...result.data.pets);
        cursor = result.data.next;
      } while (cursor !== undefined);
      const ids = all.map(({ id }) => id);
      expect(ids.length).toBeGreaterThanOrEqual(5);
      expect(new Set(ids).size).toBe(ids.length);
      expect(await api.list({ status: 'sold', limit: 100 })).toMatchObject({
        data: { pets: all.filter(({ status }) => status === 'sold') },
      });
    });

    test('creates a pet with 64-bit ids, and fetches it', async () => {
      const pet = created(await api.create({ name: `"id":5 of ${name}`, categoryId: '9007199254740993' }));
      expect(pet).toEqual({
        id: expect.stringMatching(/^\d+$/) as string,
        name: `"id":5 of ${name}`,
        categoryId: '9007199254740993',
        status: 'available',
      });
      expect(await api.get(pet.id)).toMatchObject({ status: 200, data: pet });
      const least = created(await api.create({ name: 'Rex', categoryId: '-9223372036854775808' }));
      expect(least.categoryId).toBe('-9223372036854775808');
    });

    test('repeats a create without a second pet', async () => {
      const key = `"${name}"`;
      const first = created(await api.create({ name: 'Mia', categoryId: '2' }, key));
      expect(created(await api.create({ name: 'Mia', categoryId: '2' }, key))).toEqual(first);
      expect(await api.create({ name: 'Rex', categoryId: '2' }, key)).toMatchObject({
        status: 422,
        error: { code: 'idempotency_key_reused' },
      });
    });

    test('gets the code of an error', async () => {
      expect(await api.get('9223372036854775807')).toMatchObject({
        status: 404,
        error: { code: 'pet_not_found' },
      });
      expect(await api.create({ name: '', categoryId: '1' })).toMatchObject({
        status: 400,
        error: { code: 'invalid_request' },
      });
      const stranger = createApi({ url: `${services.gateway.url}/v1`, key: 'pets_unknown' });
      expect(await stranger.list({})).toMatchObject({ status: 401, error: { code: 'malformed_api_key' } });
    });
  });
});
