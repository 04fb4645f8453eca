import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { runOps } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const example = fileURLToPath(new URL('../../gateway/upstream/example/', import.meta.url));
const servicesFile = join(example, 'services.yaml');

describe('ops services', { timeout: 60_000 }, () => {
  const directory = shared(temporaryDirectory);

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

  test('check names the line of what is wrong', async () => {
    const file = join(directory.path, 'bad.yaml');
    await writeFile(
      file,
      `services:\n  orders: { description: none.yaml, urls: ['http://127.0.0.1:3003'] }\n`,
    );
    const issue = /bad\.yaml:2:13: none\.yaml can't be read \(ENOENT/;
    const checked = await runOps(['services', 'check', file]);
    expect(checked.code).toBe(1);
    expect(checked.stderr).toMatch(issue);
  });
});
