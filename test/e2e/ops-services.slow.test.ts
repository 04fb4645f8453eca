import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureTokenKeyPair } from '#runtime/token-key-pair.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { runOps, runProgram, startOrdersService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

const example = fileURLToPath(new URL('../../gateway/services/example/', import.meta.url));
const servicesFile = join(example, 'services.yaml');
const description = join(example, 'orders.yaml');

describe('ops services', { timeout: 60_000 }, () => {
  let directory: TemporaryDirectory;
  let env: Record<string, string>;
  let orders: Service;
  let port: number;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    env = { DATA_DIR: directory.path };
    ensureTokenKeyPair(directory.path);
    port = await freePort();
    orders = await startOrdersService(port, directory.path);
  }, 60_000);
  afterAll(async () => {
    await orders[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const orderUrl = () => `http://127.0.0.1:${port}`;
  const conformance = (url: string, ...options: string[]) =>
    runOps(['services', 'test', url, '--audience', 'orders', '--description', description, ...options], env);

  test('check accepts the example', async () => {
    const { code, stdout } = await runOps(['services', 'check', servicesFile]);
    expect(stdout).toBe(
      'services.yaml is valid: pets-service at http://127.0.0.1:3001; orders at http://127.0.0.1:3003\n',
    );
    expect(code).toBe(0);
    const { stdout: json } = await runOps(['services', 'check', servicesFile, '--json']);
    expect(JSON.parse(json)).toMatchObject({
      services: [{ name: 'pets-service' }, { name: 'orders', timeoutMs: 1500, connections: 32 }],
    });
  });

  test('check and a gateway name the line of what is wrong, and the gateway opens nothing', async () => {
    const file = join(directory.path, 'bad.yaml');
    await writeFile(
      file,
      `services:\n  orders: { description: none.yaml, urls: ['http://127.0.0.1:3003'] }\n`,
    );
    const issue = /bad\.yaml:2:13: none\.yaml can't be read \(ENOENT/;
    const checked = await runOps(['services', 'check', file]);
    expect(checked.code).toBe(1);
    expect(checked.stderr).toMatch(issue);
    const data = join(directory.path, 'unused');
    const started = await runProgram(['gateway/server.ts'], { DATA_DIR: data, SERVICES_FILE: file });
    expect(started.code).toBe(1);
    expect(started.stderr).toMatch(issue);
    expect(existsSync(data)).toBe(false);
  });

  test('check and a gateway name all that is wrong with the API', async () => {
    const file = join(directory.path, 'api.yaml');
    await writeFile(
      file,
      `api:
  keyPrefix: Box
  guide: none.md
  name: Boxes
services:
  orders: { description: ${description}, urls: ['http://127.0.0.1:3003'] }
`,
    );
    const checked = await runOps(['services', 'check', file]);
    expect(checked.code).toBe(1);
    const started = await runProgram(['gateway/server.ts'], {
      DATA_DIR: join(directory.path, 'unused'),
      SERVICES_FILE: file,
    });
    expect(started.code).toBe(1);
    for (const { stderr } of [checked, started]) {
      expect(stderr).toContain('api.yaml:2:3: api.keyPrefix is not a prefix such as pets_');
      expect(stderr).toContain("api.yaml:3:3: none.md can't be read");
      expect(stderr).toContain('api.yaml:4:3: api.name is not known');
    }
  });

  test('test finds nothing wrong with the example', async () => {
    const { code, stdout } = await conformance(orderUrl());
    expect(stdout).toContain('ok      refuses a token of another audience\n');
    expect(stdout).toContain('ok      GET /v1/orders/order:1 responds as described\n');
    expect(stdout).toMatch(/\n0 of 12 checks failed\n$/);
    expect(code).toBe(0);
  });

  test('test names what a service breaks that checks no token and sends pages', async () => {
    await using careless = await startUpstream();
    careless.response = (_req, res) =>
      res.writeHead(200, { 'content-type': 'text/html', connection: 'close' }).end('<h1>Orders</h1>');
    const { code, stdout } = await conformance(careless.url, '--json');
    expect(code).toBe(1);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; problem: string | null }[] };
    const problems = Object.fromEntries(checks.map(({ name, problem }) => [name, problem]));
    expect(problems).toMatchObject({
      '/readyz says whether it is ready, without a token': null,
      'refuses a request without a token': 'it responded with 200: respond with 401',
      'refuses a token of another audience': 'it responded with 200: respond with 401',
      'refuses a token without a signature': 'it responded with 200: respond with 401',
      'keeps idle connections longer than the gateway': 'it closes the connection after a response',
      'GET /v1/orders responds as described':
        'the 200 has the Content-Type "text/html", which is not described',
    });
  });

  test('test says that nobody listens', async () => {
    const { code, stdout } = await conformance(`http://127.0.0.1:${await freePort()}`);
    expect(code).toBe(1);
    expect(stdout).toMatch(/FAILED {2}accepts a valid token: there is no complete response \(.*ECONNREFUSED/);
  });
});
