import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { listen } from '../support/http/listening.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Reply {
  status: number;
  body: unknown;
}

/** Runs .ci/audit with a registry that replies this to a request for a report. */
async function audit({ status, body }: Reply): Promise<{ code: unknown; stdout: string }> {
  const registry = createServer((request, response) => {
    request.resume();
    const found = request.url === '/-/npm/v1/security/advisories/bulk';
    response.writeHead(found ? status : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ? body : {}));
  });
  await listen(registry);
  onTestFinished(() => {
    registry.close();
  });
  const { port } = registry.address() as AddressInfo;
  const { HOME = '', PATH = '' } = process.env;
  const env = { HOME, PATH, npm_config_registry: `http://127.0.0.1:${port}`, npm_config_fetch_retries: '0' };
  return new Promise((resolve) => {
    execFile('bash', ['.ci/audit'], { cwd: root, env }, (error, stdout) => {
      resolve({ code: error?.code ?? 0, stdout });
    });
  });
}

const advisory = {
  id: 1,
  url: 'https://example.org/1',
  title: 'a vulnerability',
  severity: 'high',
  vulnerable_versions: '*',
};

describe('.ci/audit', { timeout: 120_000 }, () => {
  test('says that nothing was checked if the registry gives no report', async () => {
    const { code, stdout } = await audit({ status: 405, body: {} });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^npm audit: known vulnerabilities were NOT checked, the registry gave no report \(.*405/,
    );
  });

  test('fails for a vulnerability of a production dependency, and not for one of a development dependency', async () => {
    expect((await audit({ status: 200, body: { 'rate-limiter-flexible': [advisory] } })).code).toBe(1);
    expect((await audit({ status: 200, body: { tinybench: [advisory] } })).code).toBe(0);
  });
});
