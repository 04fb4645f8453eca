import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';
import { loadServices } from '../../../../gateway/upstream/load-services.ts';
import { petsApi } from '../../../../gateway/upstream/pets-service.ts';
import { servicesFileSchema } from '../../../../gateway/upstream/services-file-schema.ts';
import { shared } from '../../../support/kits/shared.ts';
import { temporaryDirectory } from '../../../support/kits/temporary-directory.ts';

const servicesFolder = new URL('../../../../gateway/upstream/', import.meta.url);

const directory = shared(temporaryDirectory);

const responses = "responses: { '200': { description: Found, content: { application/json: {} } } }";
const orders = `openapi: 3.1.1
info: { title: Orders, version: 1.0.0 }
paths:
  /orders:
    get:
      operationId: listOrders
      summary: List orders
      ${responses}
`;
const services = `services:
  orders: { description: orders.yaml, urls: ['http://127.0.0.1:3003'] }
`;
const other = `  other: { description: other.yaml, urls: ['http://127.0.0.1:3004'] }\n`;

const load = async (files: Record<string, string>) => (await loadAll(files)).services;

async function loadAll(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory.path, name), text);
  return loadServices({
    servicesFile: join(directory.path, 'services.yaml'),
    petsServiceUrls: [],
    upstreamTimeoutMs: 10_000,
    upstreamConnections: 256,
    maxBodyBytes: 1_048_576,
  });
}

const operation = (id: string) => `get: { operationId: ${id}, summary: A summary, ${responses} }`;
/** Orders with a further path. */
const withPath = (path: string) => `${orders}  ${path}: { ${operation('another')} }\n`;
const pathParameter = (name: string) => `parameters: [{ name: ${name}, in: path, required: true }]`;

test('settings that the file lacks have defaults', async () => {
  expect(await load({ 'services.yaml': services, 'orders.yaml': orders })).toEqual([
    {
      name: 'orders',
      audience: 'orders',
      urls: ['http://127.0.0.1:3003'],
      timeoutMs: 10_000,
      connections: 256,
      maxBodyBytes: 1_048_576,
      readiness: '/readyz',
      description: { file: 'orders.yaml', text: orders },
      paths: [],
    },
  ]);
});

test('settings of the file are taken, numbers as numbers', async () => {
  const text = `services:
  orders:
    description: orders.yaml
    urls: ['http://127.0.0.1:3003/', 'https://orders.internal']
    audience: https://orders.example
    timeoutMs: 1500
    connections: 32
    maxBodyBytes: 20000000
    readiness: /ready?now
`;
  expect(await load({ 'services.yaml': text, 'orders.yaml': orders })).toMatchObject([
    {
      urls: ['http://127.0.0.1:3003', 'https://orders.internal'],
      audience: 'https://orders.example',
      maxBodyBytes: 20_000_000,
      timeoutMs: 1500,
      connections: 32,
      readiness: '/ready?now',
    },
  ]);
});

test('without a file, the pets service is the only one', () => {
  const urls = ['http://a:1'];
  const limits = { upstreamTimeoutMs: 7, upstreamConnections: 8, maxBodyBytes: 9 };
  const [name, audience] = ['pets-service', 'pets-service'];
  expect(loadServices({ ...limits, petsServiceUrls: urls, servicesFile: undefined }).services).toMatchObject([
    { name, audience, urls, timeoutMs: 7, connections: 8, maxBodyBytes: 9 },
  ]);
});

test('the shipped JSON Schema is that of the code', () => {
  const file = new URL('../../../../gateway/upstream/services-file.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(
    z.toJSONSchema(servicesFileSchema, { target: 'draft-7', io: 'input' }),
  );
});

const inServices = (from: string, to: string) => ({ 'services.yaml': services.replace(from, to) });
const inOrders = (from: string, to: string) => ({ 'orders.yaml': orders.replace(from, to) });
const inOperation = (field: string) => inOrders('summary:', `${field}\n      summary:`);
const withServers = (...urls: string[]) => ({
  'orders.yaml': `servers: [${urls.map((url) => `{ url: '${url}' }`).join(', ')}]\n${orders}`,
});
const byPath = (path: string) => inServices('description: orders.yaml', `paths: [${path}]`);
/** A second service with operations of its own. */
const others = (edit: (text: string) => string) => ({
  'services.yaml': services + other,
  'other.yaml': edit(orders.replace('listOrders', 'listOthers')),
});

/** By the only issue of each. Files that are not given are valid. */
const refused: Record<string, Record<string, string>> = {
  "services.yaml:2:13: missing.yaml can't be read (ENOENT": inServices('orders.yaml', 'missing.yaml'),
  'services.yaml:2:39: services.orders.timeout is not known': inServices('urls:', 'timeout: 5, urls:'),
  'services.yaml:2:39: services.orders.urls.0 is not a URL with a scheme, a host and a port alone, such as http://127.0.0.1:3001':
    inServices('http://127.0.0.1:3003', '127.0.0.1'),
  'services.yaml:2:3: services.orders.urls is missing: name at least one instance': inServices(
    ", urls: ['http://127.0.0.1:3003']",
    '',
  ),
  'services.yaml:2:39: services.orders.timeoutMs is not a whole number of milliseconds from 1 to 9999999':
    inServices('urls:', 'timeoutMs: 1.5, urls:'),
  'services.yaml:2:3: services.Orders! is not a valid name: use up to 32 lower-case letters, digits and dashes':
    inServices('orders:', 'Orders!:'),
  'services.yaml:3:12: services.other.paths has /v1, as orders has': {
    'services.yaml': (services + other).replaceAll(/description: \w+\.yaml/g, 'paths: [/v1]'),
  },
  'services.yaml:2:3: services.orders has neither paths, such as [/v1], nor a description': inServices(
    'description: orders.yaml, ',
    '',
  ),
  'services.yaml:2:3: services.orders has paths and a description': inServices(
    'urls:',
    'paths: [/v2], urls:',
  ),
  'services.yaml:2:13: services.orders.paths.0 is not a base path such as /v1': byPath('/docs'),
  'orders.yaml:9:1: Unexpected flow-seq-end token': { 'orders.yaml': `${orders}]` },
  'orders.yaml:1:1: openapi is not 3.1: the gateway publishes OpenAPI 3.1': inOrders('3.1.1', '3.0.3'),
  ': openapi is not 3.1: the gateway publishes OpenAPI 3.1, as in openapi: 3.1.1': inOrders(
    'openapi: 3.1.1',
    "swagger: '2.0'",
  ),
  'other.yaml:4:3: /orders is a path of orders, too': others((text) => text),
  'other.yaml:4:3: /boxes/{any} overlaps /boxes/mine of orders': {
    ...others((text) => text.replace('/orders:', `/boxes/{any}:\n    ${pathParameter('any')}`)),
    'orders.yaml': withPath('/boxes/mine'),
  },
  'orders.yaml:9:3: /usage is a path of the gateway, too': { 'orders.yaml': withPath('/usage') },
  'other.yaml:9:26: components.schemas.Thing is not the one of orders: rename it, or leave it out to use that one':
    {
      ...others(
        (text) =>
          `${text.replace('/orders', '/others')}components: { schemas: { Thing: { type: object } } }\n`,
      ),
      'orders.yaml': `${orders}components: { schemas: { Thing: { type: string } } }\n`,
    },
  'orders.yaml:9:3: /days/{year}-{month} is not a path such as /orders or /orders/{id}': {
    'orders.yaml': withPath('/days/{year}-{month}'),
  },
  'the documentation cannot show the descriptions: the API description has nothing at #/components/responses/X':
    inOrders(
      "'200': { description: Found",
      "'404': { $ref: '#/components/responses/X' }, '200': { description: Found",
    ),
  'orders.yaml:7:7: security of GET /orders has to be one entry with the scheme apiKey and the scopes that a key needs, such as [{ apiKey: [orders:read] }]':
    inOperation('security: [{ apiKey: [a], oauth: [a] }]'),
  'orders.yaml:1:1: servers has "/docs/v2", whose path is not a base path such as /v1':
    withServers('/docs/v2'),
};

/** What the file says of the API, by the issue of it. */
const refusedOfApi: Record<string, string> = {
  'services.yaml:1:8: api.keyPrefix is not a prefix such as box_: at most 16 lower-case letters and digits, of which the last is _, and not key_':
    '{ keyPrefix: key_ }',
  'services.yaml:1:8: api.keyVariable is not the name of a variable such as COURIER_KEY: use up to 64 upper-case letters, digits and _':
    '{ keyVariable: $KEY }',
  'services.yaml:1:8: api.basePath is not a base path such as /v1 or /orders/v2, without a slash at its end: /docs, /portal and /openapi.json are of the gateway':
    '{ basePath: /v1/ }',
  'services.yaml:1:8: api.name is not known': '{ name: Boxes }',
  'services.yaml:1:18: api.portal.color is not a color such as "#0b6157": write # and six hexadecimal digits, in quotes':
    '{ portal: { color: teal } }',
  "services.yaml:1:8: missing.md can't be read (ENOENT": '{ guide: missing.md }',
};

/** @returns what is wrong with the files, which has to be one thing */
async function onlyIssue(files: Record<string, string>): Promise<string> {
  const loaded = load({ 'services.yaml': services, 'orders.yaml': orders, 'other.yaml': orders, ...files });
  const error: unknown = await loaded.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: 'ConfigError', issues: [expect.any(String)] });
  return (error as { issues: string[] }).issues.join().replace('SERVICES_FILE: ', '');
}

test.each(Object.entries(refused))('%s', async (issue, files) => {
  expect(await onlyIssue(files)).toContain(issue);
});

test.each(['0', '2.5', '"5"', '1000000001'])('the cost %s is refused', async (cost) => {
  expect(await onlyIssue(inOperation(`x-quota-cost: ${cost}`))).toBe(
    'orders.yaml:7:7: x-quota-cost of GET /orders is no whole number from 1 to 1000000000, the most that a plan can allow',
  );
});

test.each(Object.entries(refusedOfApi))('%s', async (issue, fields) => {
  expect(await onlyIssue({ 'services.yaml': `api: ${fields}\n${services}` })).toContain(issue);
});

test('a description needs only what is used: the rest has defaults', () => {
  const text = `openapi: 3.1.1
paths:
  /orders/{id}: { get: {} }
  /orders: { post: { responses: { '201': {} } } }
`;
  const service = { name: 'orders', description: { file: 'a.yaml', text } };
  const { document } = loadApiDescription(undefined, [service]);
  expect(document).toMatchObject({ title: 'Orders API', version: '1.0.0' });
  const parameters = [{ name: 'id', in: 'path', required: true }];
  expect(document.operations).toMatchObject([
    { operationId: 'get-orders-id-', summary: 'GET /orders/{id}', parameters },
    { operationId: 'post-orders', summary: 'POST /orders' },
    { operationId: 'getUsage' },
  ]);
});

test('equal components may be in several descriptions', async () => {
  const shared = 'components: { schemas: { Money: { type: integer, maximum: 9223372036854775807 } } }\n';
  const files = {
    'services.yaml': services + other,
    'orders.yaml': orders + shared,
    'other.yaml': orders.replace('/orders', '/others').replace('listOrders', 'listOthers') + shared,
  };
  expect(await load(files)).toHaveLength(2);
});

test('what the file says of the API is taken, and what it leaves out has defaults', async () => {
  const files = { 'services.yaml': services, 'orders.yaml': orders };
  const general = { keyPrefix: 'api_', keyVariable: 'API_KEY', productName: 'Orders gateway' };
  // What is undefined counts as absent.
  expect((await loadAll(files)).api).toEqual(general);
  const api = `api: { title: Order API, basePath: /shop, guide: guide.md, changelog: news.md, keyPrefix: ord1_, keyVariable: ORDER_KEY }\n`;
  const texts = { 'guide.md': '# How\n', 'news.md': '# News\n' };
  expect((await loadAll({ ...files, ...texts, 'services.yaml': api + services })).api).toEqual({
    title: 'Order API',
    basePath: '/shop',
    guide: '# How\n',
    changelog: '# News\n',
    keyPrefix: 'ord1_',
    keyVariable: 'ORDER_KEY',
    productName: 'Order API gateway',
  });
});

test('an API with the pets service keeps its guide, unless the file names another', async () => {
  const pets = `  pets-service: { description: ${fileURLToPath(new URL('pets.yaml', servicesFolder))}, urls: ['http://127.0.0.1:3001'] }\n`;
  const files = { 'orders.yaml': orders, 'guide.md': '# How\n' };
  expect((await loadAll({ ...files, 'services.yaml': services + pets })).api).toEqual(petsApi());
  const keys = 'api: { keyPrefix: shop_, keyVariable: SHOP_KEY }\n';
  const { guide } = (await loadAll({ ...files, 'services.yaml': keys + services + pets })).api;
  expect(guide).toContain('export SHOP_KEY=shop_…');
  expect(guide).not.toMatch(/pets_|ANIMAL_STORE/);
  const api = 'api: { guide: guide.md, title: Shop }\n';
  expect((await loadAll({ ...files, 'services.yaml': api + services + pets })).api).toEqual({
    ...petsApi(),
    title: 'Shop',
    guide: '# How\n',
    clients: undefined,
    productName: 'Shop gateway',
  });
});
