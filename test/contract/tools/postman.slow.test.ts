import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startBothServices } from '../../support/kits/both-services.ts';
import { temporaryDirectory } from '../../support/kits/temporary-directory.ts';
import { runTool } from './tools.ts';

interface NewmanReport {
  run: {
    executions: {
      item: { name: string };
      request: { method: string; url: { path: string[]; query?: { key: string; value: string }[] } };
      response?: { code: number };
    }[];
  };
}

test(
  'every call of an imported Postman collection succeeds with the examples',
  { tags: ['api-tools'], timeout: 120_000 },
  async () => {
    await using services = await startBothServices();
    await using directory = await temporaryDirectory();
    const file = (name: string) => join(directory.path, name);
    const served = await (await fetch(`${services.gateway.url}/openapi.json`)).text();
    await writeFile(file('openapi.json'), served);
    await runTool('openapi2postmanv2', [
      '--spec',
      file('openapi.json'),
      '--output',
      file('collection.json'),
      '--options',
      'parametersResolution=Example',
    ]);
    await runTool('newman', [
      'run',
      file('collection.json'),
      '--env-var',
      `baseUrl=${services.gateway.url}/v1`,
      '--env-var',
      `bearerToken=${services.key}`,
      '--reporters',
      'json',
      '--reporter-json-export',
      file('report.json'),
    ]);
    const { run } = JSON.parse(await readFile(file('report.json'), 'utf8')) as NewmanReport;
    const calls = run.executions.map(({ request, response }) => {
      const { method, url } = request;
      return `${method} /${url.path.join('/')} ${response?.code}`;
    });
    expect(calls.toSorted()).toEqual([
      'GET /v1/pets 200',
      'GET /v1/pets/1 200',
      'GET /v1/usage 200',
      'POST /v1/pets 201',
    ]);
    // The parameters are sent, and so are the headers: without them the calls would succeed, too.
    const list = run.executions.find(({ request }) => request.method === 'GET' && request.url.query?.length);
    expect(list?.request.url.query).toMatchObject([
      { key: 'limit', value: '50' },
      { key: 'status', value: 'available' },
      { key: 'cursor', value: 'AAAAAAAAAAI' },
      { key: 'after', value: '2' },
    ]);
  },
);
