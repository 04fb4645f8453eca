import { generateKeyPairSync } from 'node:crypto';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { codeBlock } from '../support/code-block.ts';
import { send } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const names = ['billing', 'reports'] as const;

type CreatePetsClient = (
  options: Record<'url' | 'name' | 'privateKey', string>,
) => (path: string, request?: RequestInit) => Promise<Response>;

let createPetsClient: CreatePetsClient;
const privateKeys: Record<string, string> = {};
const fileOf = (name: string) => join(directory.path, `${name}.pem`);

const directory = shared(temporaryDirectory);
beforeAll(async () => {
  for (const name of names) {
    const pair = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    privateKeys[name] = pair.privateKey;
    await writeFile(fileOf(name), pair.publicKey);
  }
  // The client imports a package.
  await symlink(
    fileURLToPath(new URL('../../node_modules', import.meta.url)),
    join(directory.path, 'node_modules'),
  );
  const file = join(directory.path, 'pets-client.ts');
  await writeFile(file, await codeBlock('pets-service/README.md', 'ts', 'function createPetsClient'));
  ({ createPetsClient } = (await import(pathToFileURL(file).href)) as { createPetsClient: CreatePetsClient });
});

/** The example client of the README, with the private key of a name. */
const clientOf = (url: string, name: string) =>
  createPetsClient({ url, name, privateKey: privateKeys[name] ?? '' });

describe('two internal services with keys of their own', () => {
  const services = shared(() => {
    const keys = `billing:${fileOf('billing')},reports:${fileOf('reports')}`;
    return startBothServices({ PETS_SERVICE_CALLER_KEYS: keys });
  });

  test('list and create pets without the gateway, Redis or its private key', async () => {
    const { url } = services.petsService;
    const callPets = clientOf(url, 'billing');
    const body = JSON.stringify({ name: 'Invoice', categoryId: 1 });
    const headers = { 'content-type': 'application/json', 'idempotency-key': '"1"' };
    const created = await callPets('/v1/pets', { method: 'POST', headers, body });
    expect(created.status).toBe(201);
    expect(created.headers.get('location')).toMatch(/^\/v1\/pets\/\d+$/);
    // Idempotency keys belong to the service.
    const other = await clientOf(url, 'reports')('/v1/pets', { method: 'POST', headers, body });
    expect(other.headers.get('location')).not.toBe(created.headers.get('location'));
    const again = await callPets('/v1/pets', { method: 'POST', headers, body });
    expect(again.headers.get('location')).toBe(created.headers.get('location'));
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  test('are named in log and metrics', async () => {
    const { url, output } = services.petsService;
    await clientOf(url, 'reports')('/v1/pets', { headers: { 'x-request-id': 'nightly-7' } });
    await expect.poll(output).toMatch(/"requestId":"nightly-7".*"issuer":"reports","caller":"reports"/);
    const { text } = await send(`${url}/metrics`);
    expect(text).toMatch(
      /^pets_requests_total\{route="\/v1\/pets",method="GET",status="200",caller="reports"\} \d+$/m,
    );
  });
});

describe('the example client', () => {
  test('retries what the service says can be retried, and a lost connection if that is safe', async () => {
    await using upstream = await startUpstream();
    upstream.response = (req, res) => {
      const count = upstream.seen.length;
      if (count === 1) res.writeHead(503, { 'retry-after': '0' }).end();
      else if (count === 2) req.socket.destroy();
      else res.writeHead(200, { 'content-type': 'application/json' }).end('[]');
    };
    const response = await clientOf(upstream.url, 'billing')('/v1/pets');
    expect([response.status, upstream.seen.length]).toEqual([200, 3]);
  });

  test('does not repeat a POST without Idempotency-Key after a lost connection', async () => {
    await using upstream = await startUpstream();
    upstream.response = (req) => req.socket.destroy();
    const callPets = clientOf(upstream.url, 'billing');
    await expect(callPets('/v1/pets', { method: 'POST', body: '{}' })).rejects.toThrow('fetch failed');
    expect(upstream.seen).toHaveLength(1);
  });
});
