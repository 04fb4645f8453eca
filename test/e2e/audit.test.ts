import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { listening } from '../support/http/listening.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Reply {
  status: number;
  body: unknown;
}

/** Runs .ci/audit with a registry that replies this to a request for a report. */
async function audit({ status, body }: Reply): Promise<{ code: unknown; stdout: string }> {
  using registry = await listening(
    createServer((request, response) => {
      request.resume();
      const found = request.url === '/-/npm/v1/security/advisories/bulk';
      response.writeHead(found ? status : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ? body : {}));
    }),
  );
  const { HOME = '', PATH = '' } = process.env;
  const env = { HOME, PATH, npm_config_registry: registry.url, npm_config_fetch_retries: '0' };
  return await new Promise((resolve) => {
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
