import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';
import { loadServices } from '../../../../gateway/upstream/load-services.ts';
import { petsApi } from '../../../../gateway/upstream/pets-service.ts';
import { servicesFileJsonSchema } from '../../../../gateway/upstream/services-file-schema.ts';
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

async function loadAll(files: Record<string, string>, publicUrl?: string) {
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory.path, name), text);
  return loadServices({
    servicesFile: join(directory.path, 'services.yaml'),
    publicUrl,
    petsServiceUrls: [],
    upstreamTimeoutMs: 10_000,
    upstreamConnections: 256,
    maxBodyBytes: 1_048_576,
  });
}

const operation = (id: string) => `get: { operationId: ${id}, summary: A summary, ${responses} }`;
/** Orders with further paths, each a line that begins with its path. */
const withPaths = (...lines: string[]) => orders + lines.map((line) => `  ${line}\n`).join('');
const withPath = (path: string, id = 'another') => withPaths(`${path}: { ${operation(id)} }`);
const pathParameter = (name: string) => `parameters: [{ name: ${name}, in: path, required: true }]`;
const withTemplate = (path: string, name: string, id: string) =>
  `${path}: { ${pathParameter(name)}, ${operation(id)} }`;

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
  const settings = {
    petsServiceUrls: ['http://a:1'],
    upstreamTimeoutMs: 7,
    upstreamConnections: 8,
    maxBodyBytes: 9,
  };
  expect(loadServices({ ...settings, servicesFile: undefined }).services).toMatchObject([
    {
      name: 'pets-service',
      audience: 'pets-service',
      urls: ['http://a:1'],
      timeoutMs: 7,
      connections: 8,
      maxBodyBytes: 9,
    },
  ]);
});

test('the shipped JSON Schema is that of the code', () => {
  const file = new URL('../../../../gateway/upstream/services-file.schema.json', import.meta.url);
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(servicesFileJsonSchema());
});

/** Each with the only issue. Files that are not given are valid. */
const refused: Record<string, { files: Record<string, string>; issue: string | RegExp }> = {
  'a missing description': {
    files: { 'services.yaml': services.replace('orders.yaml', 'missing.yaml') },
    issue: /^services\.yaml:2:13: missing\.yaml can't be read \(ENOENT/,
  },
  'an unknown field': {
    files: { 'services.yaml': services.replace('urls:', 'timeout: 5, urls:') },
    issue:
      'services.yaml:2:39: services.orders.timeout is not known; known are description, urls, paths, upgrade, setCookie, audience, timeoutMs, connections, maxBodyBytes, readiness',
  },
  'a bad URL': {
    files: { 'services.yaml': services.replace('http://127.0.0.1:3003', '127.0.0.1') },
    issue: 'services.yaml:2:39: services.orders.urls.0 is not a URL such as http://127.0.0.1:3001',
  },
  'no instance': {
    files: { 'services.yaml': services.replace("['http://127.0.0.1:3003']", '[]') },
    issue: 'services.yaml:2:39: services.orders.urls is empty: name at least one instance',
  },
  'a bad number': {
    files: { 'services.yaml': services.replace('urls:', 'timeoutMs: 1.5, urls:') },
    issue:
      'services.yaml:2:39: services.orders.timeoutMs is not a whole number of milliseconds from 1 to 9999999',
  },
  'a bad name': {
    files: { 'services.yaml': services.replace('orders:', 'Orders!:') },
    issue:
      'services.yaml:2:3: services.Orders! is not a valid name: use up to 32 lower-case letters, digits and dashes',
  },
  'a URL of two services': {
    files: { 'services.yaml': services + other.replace('3004', '3003'), 'other.yaml': orders },
    issue: 'services.yaml:3:37: services.other.urls has http://127.0.0.1:3003, as orders has',
  },
  'an audience of two services': {
    files: {
      'services.yaml': services + other.replace('urls', 'audience: orders, urls'),
      'other.yaml': orders,
    },
    issue: 'services.yaml:3:37: services.other.audience has orders, as orders has',
  },
  'no YAML': {
    files: { 'orders.yaml': `${orders}]` },
    issue: /^orders\.yaml:9:1: Unexpected flow-seq-end token/,
  },
  'an OpenAPI document of another version': {
    files: { 'orders.yaml': orders.replace('3.1.1', '3.0.3') },
    issue: 'orders.yaml:1:1: openapi is not 3.1: the gateway publishes OpenAPI 3.1',
  },
  'neither paths nor a description': {
    files: { 'services.yaml': services.replace('description: orders.yaml, ', '') },
    issue: /^services\.yaml:2:3: services\.orders has neither paths, such as \[\/v1\], nor a description/,
  },
  'paths and a description': {
    files: { 'services.yaml': services.replace('urls:', 'paths: [/v2], urls:') },
    issue: /^services\.yaml:2:3: services\.orders has paths and a description/,
  },
  'a path under which the documentation is': {
    files: { 'services.yaml': services.replace('description: orders.yaml', 'paths: [/docs]') },
    issue: /^services\.yaml:2:13: services\.orders\.paths\.0 is where the documentation/,
  },
  'a path of everything': {
    files: { 'services.yaml': services.replace('description: orders.yaml', 'paths: [/]') },
    issue: /^services\.yaml:2:13: services\.orders\.paths\.0 is not a base path such as \/v1/,
  },
  'a path of two services by path': {
    files: {
      'services.yaml': (services + other).replaceAll(/description: \w+\.yaml/g, 'paths: [/v1]'),
    },
    issue: 'services.yaml:3:12: services.other.paths has /v1, as orders has',
  },
  'a path of another service': {
    files: {
      'services.yaml': services + other,
      'other.yaml': orders.replace('listOrders', 'listOthers'),
    },
    issue: 'other.yaml:4:3: /orders is a path of orders, too',
  },
  'a path that overlaps one of another service': {
    files: {
      'services.yaml': services + other,
      'orders.yaml': withPath('/boxes/mine'),
      'other.yaml': orders
        .replace('/orders:', `/boxes/{any}:\n    ${pathParameter('any')}`)
        .replace('listOrders', 'listOthers'),
    },
    issue: 'other.yaml:4:3: /boxes/{any} overlaps /boxes/mine of orders',
  },
  "a path of the gateway's": {
    files: { 'orders.yaml': withPath('/usage') },
    issue: 'orders.yaml:9:3: /usage is a path of the gateway, too',
  },
  'an operationId of another service': {
    files: { 'services.yaml': services + other, 'other.yaml': orders.replace('/orders', '/others') },
    issue: 'other.yaml:5:5: the operationId listOrders is one of orders, too',
  },
  'a schema of another service': {
    files: {
      'services.yaml': services + other,
      'orders.yaml': `${orders}components: { schemas: { Thing: { type: string } } }\n`,
      'other.yaml': `${orders.replace('/orders', '/others').replace('listOrders', 'listOthers')}components: { schemas: { Thing: { type: object } } }\n`,
    },
    issue:
      'other.yaml:9:26: components.schemas.Thing is not the one of orders: rename it, or leave it out to use that one',
  },
  'a template that can never match': {
    files: {
      'orders.yaml': withPaths(
        withTemplate('/orders/{id}', 'id', 'one'),
        withTemplate('/orders/{key}', 'key', 'two'),
      ),
    },
    issue: 'orders.yaml:10:3: /orders/{key} can never match: /orders/{id} matches the same requests',
  },
  'a path that is never canonical': {
    files: { 'orders.yaml': withPath('/orders/a b') },
    issue: /^orders\.yaml:9:3: \/orders\/a b has the segment a b: only letters/,
  },
  'a reference to nowhere': {
    files: {
      'orders.yaml': orders.replace('json: {}', "json: { schema: { $ref: '#/components/schemas/X' } }"),
    },
    issue: /^orders\.yaml:8:\d+: refers to #\/components\/schemas\/X, which is nowhere$/,
  },
  'a reference to another file': {
    files: { 'orders.yaml': orders.replace('json: {}', "json: { schema: { $ref: 'x.yaml' } }") },
    issue: /^orders\.yaml:8:\d+: refers to x\.yaml, which is not in this file$/,
  },
  'a scheme that the gateway does not have': {
    files: { 'orders.yaml': orders.replace('summary:', 'security: [{ oauth: [a] }]\n      summary:') },
    issue:
      'orders.yaml:7:7: security of GET /orders has to be one entry with the scheme apiKey and the scopes that a key needs, such as [{ apiKey: [orders:read] }]',
  },
  'a field of an operation that is misspelt': {
    files: { 'orders.yaml': orders.replace('summary:', 'securty: []\n      summary:') },
    issue: 'orders.yaml:7:7: securty of GET /orders is not known',
  },
  'an extension of the gateway that is misspelt': {
    files: { 'orders.yaml': orders.replace('summary:', 'x-quota-cots: 5\n      summary:') },
    issue: 'orders.yaml:7:7: x-quota-cots of GET /orders is not known',
  },
  'a list of instances that is missing': {
    files: { 'services.yaml': services.replace(/, urls: .*\]/, '') },
    issue: 'services.yaml:2:3: services.orders.urls is missing: name at least one instance',
  },
  'a scope that cannot be in a header': {
    files: { 'orders.yaml': orders.replace('summary:', 'security: [{ apiKey: ["a b"] }]\n      summary:') },
    issue: /^orders\.yaml:7:7: security of GET \/orders has to be one entry/,
  },
  ...Object.fromEntries(
    ['0', '2.5', '"5"', '1000000001'].map((cost) => [
      `the cost ${cost}`,
      {
        files: { 'orders.yaml': orders.replace('summary:', `x-quota-cost: ${cost}\n      summary:`) },
        issue:
          'orders.yaml:7:7: x-quota-cost of GET /orders is no whole number from 1 to 1000000000, the most that a plan can allow',
      },
    ]),
  ),
  'two base paths of a service': {
    files: { 'orders.yaml': `servers: [{ url: /v2 }, { url: /v1 }]\n${orders}` },
    issue: 'orders.yaml:1:1: servers has "/v2" and "/v1": a service has one base path',
  },
  'operations without a base path': {
    files: { 'orders.yaml': `servers: [{ url: 'https://orders.example/' }]\n${orders}` },
    issue:
      'orders.yaml:1:1: servers has "https://orders.example/", whose path is not a base path such as /v1 or /orders/v2',
  },
  'the base path of the documentation': {
    files: { 'orders.yaml': `servers: [{ url: /docs/v1 }]\n${orders}` },
    issue:
      'orders.yaml:1:1: servers has "/docs/v1", whose path is where the documentation of the gateway is: take another path',
  },
  'a path of another service under another base path': {
    files: {
      'services.yaml': services + other,
      'orders.yaml': `servers: [{ url: /shop/v1 }]\n${orders}`,
      'other.yaml': `servers: [{ url: /shop }]\n${orders.replace('/orders:', '/v1/orders:').replace('listOrders', 'listOthers')}`,
    },
    issue: 'other.yaml:5:3: /shop/v1/orders is a path of orders, too',
  },
  'a prefix that is none': {
    files: { 'services.yaml': `api: { keyPrefix: Box- }\n${services}` },
    issue:
      'services.yaml:1:8: api.keyPrefix is not a prefix such as box_: at most 16 lower-case letters and digits, of which the last is _',
  },
  'a prefix that is too long': {
    files: { 'services.yaml': `api:\n  title: Boxes\n  keyPrefix: abcdefghijklmnop_\n${services}` },
    issue: /^services\.yaml:3:3: api\.keyPrefix is not a prefix such as box_/,
  },
  'the prefix of ids': {
    files: { 'services.yaml': `api: { keyPrefix: key_ }\n${services}` },
    issue: 'services.yaml:1:8: api.keyPrefix is key_, with which the ids of keys begin',
  },
  'WebSockets of a service with a description': {
    files: { 'services.yaml': services.replace('urls:', 'upgrade: true, urls:') },
    issue:
      'services.yaml:2:3: services.orders has upgrade without paths, under which the WebSockets would be',
  },
  'a header that the gateway sets for the key': {
    files: { 'services.yaml': `api: { keyHeader: Cookie }\n${services}` },
    issue: 'services.yaml:1:8: api.keyHeader is not a header of your own such as X-API-Key',
  },
  'a bad name of a variable': {
    files: { 'services.yaml': `api: { keyVariable: $KEY }\n${services}` },
    issue:
      'services.yaml:1:8: api.keyVariable is not the name of a variable such as COURIER_KEY: use up to 64 upper-case letters, digits and _',
  },
  'a title that is empty': {
    files: { 'services.yaml': `api: { title: '' }\n${services}` },
    issue: /^services\.yaml:1:8: api\.title is not a title of 1 to 100 characters/,
  },
  'a base path with a slash at its end': {
    files: { 'services.yaml': `api: { basePath: /v1/ }\n${services}` },
    issue: 'services.yaml:1:8: api.basePath is not a base path such as /v1 or /orders/v2',
  },
  'an unknown field of the API': {
    files: { 'services.yaml': `api: { name: Boxes }\n${services}` },
    issue:
      'services.yaml:1:8: api.name is not known; known are title, basePath, guide, changelog, portal, keyPrefix, keyHeader, keyVariable',
  },
  'a color of the portal that is a name': {
    files: { 'services.yaml': `api: { portal: { color: teal } }\n${services}` },
    issue:
      'services.yaml:1:18: api.portal.color is not a color such as "#0b6157": write # and six hexadecimal digits, in quotes',
  },
  'an unknown field of the portal': {
    files: { 'services.yaml': `api: { portal: { logo: x } }\n${services}` },
    issue: 'services.yaml:1:18: api.portal.logo is not known; known are title, color',
  },
  'a portal that is no mapping': {
    files: { 'services.yaml': `api: { portal: Boxes }\n${services}` },
    issue: 'services.yaml:1:8: api.portal is not the fields title and color',
  },
  'a base path that the portal has': {
    files: { 'services.yaml': `api: { basePath: /portal/v1 }\n${services}` },
    issue: 'services.yaml:1:8: api.basePath is where the portal of the gateway is: take another path',
  },
  'an API that is no mapping': {
    files: { 'services.yaml': `api: Boxes\n${services}` },
    issue: 'services.yaml:1:1: api is not the fields title, keyPrefix, …',
  },
  'a missing guide': {
    files: { 'services.yaml': `api: { guide: missing.md }\n${services}` },
    issue: /^services\.yaml:1:8: missing\.md can't be read \(ENOENT/,
  },
  'a guide that is a folder': {
    files: { 'services.yaml': `api: { guide: . }\n${services}` },
    issue: "services.yaml:1:8: . can't be read (it is not a file)",
  },
  // Reading a pipe would wait for somebody who writes to it.
  'a description that is a device': {
    files: { 'services.yaml': services.replace('orders.yaml', '/dev/null') },
    issue: "services.yaml:2:13: /dev/null can't be read (it is not a file)",
  },
};

test.each(Object.entries(refused))('%s is refused with its place', async (_name, { files, issue }) => {
  const loaded = load({ 'services.yaml': services, 'orders.yaml': orders, 'other.yaml': orders, ...files });
  const error = await loaded.then(
    () => ({ issues: [] }),
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ name: 'ConfigError' });
  const { issues } = error as { issues: string[] };
  const found = issues.map((text) => text.replace('SERVICES_FILE: ', ''));
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(issue);
});

test('all that is wrong is named at once', async () => {
  const text = orders.replace('listOrders', '"?"').replace('List orders', '7');
  const error: unknown = await load({ 'services.yaml': services, 'orders.yaml': text }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ issues: [expect.any(String), expect.any(String)] });
});

test('a description needs only what is used: the rest has defaults', () => {
  const text = `openapi: 3.1.1
paths:
  /orders/{id}: { get: {} }
  /orders: { post: { responses: { '201': {} } } }
`;
  const { document } = loadApiDescription(undefined, [
    { name: 'orders', description: { file: 'a.yaml', text } },
  ]);
  expect(document).toMatchObject({ title: 'Orders API', version: '1.0.0' });
  expect(document.operations).toMatchObject([
    {
      operationId: 'get-orders-id-',
      summary: 'GET /orders/{id}',
      parameters: [{ name: 'id', in: 'path', required: true }],
    },
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

test('all that is wrong with the API is named at once, each with its line', async () => {
  const api = `api:
  title: 7
  basePath: v1
  guide: ''
  keyPrefix: Pets_
  keyVariable: key
`;
  const error: unknown = await load({ 'services.yaml': api + services, 'orders.yaml': orders }).catch(
    (thrown: unknown) => thrown,
  );
  const { issues } = error as { issues: string[] };
  expect(issues.map((text) => /services\.yaml:(\d+):3: api\.(\w+) is /.exec(text)?.slice(1))).toEqual([
    ['2', 'title'],
    ['3', 'basePath'],
    ['4', 'guide'],
    ['5', 'keyPrefix'],
    ['6', 'keyVariable'],
  ]);
  const both = 'api:\n  guide: none.md\n  keyPrefix: pets\n';
  await expect(load({ 'services.yaml': both + services, 'orders.yaml': orders })).rejects.toMatchObject({
    issues: [
      expect.stringContaining('yaml:2:3: none.md'),
      expect.stringContaining('yaml:3:3: api.keyPrefix'),
    ],
  });
  const missing = 'api:\n  guide: none.md\n  changelog: neither.md\n';
  await expect(load({ 'services.yaml': missing + services, 'orders.yaml': orders })).rejects.toMatchObject({
    issues: [expect.stringContaining('yaml:2:3: none.md'), expect.stringContaining('yaml:3:3: neither.md')],
  });
});

test('what the file says of the API is taken, and what it leaves out has defaults', async () => {
  const files = { 'services.yaml': services, 'orders.yaml': orders };
  const general = {
    title: undefined,
    basePath: undefined,
    guide: undefined,
    clients: undefined,
    changelog: undefined,
    keyPrefix: 'api_',
    keyVariable: 'API_KEY',
    productName: 'Orders gateway',
  };
  expect((await loadAll(files)).api).toEqual(general);
  const api = `api: { title: Order API, basePath: /shop, guide: guide.md, changelog: news.md, keyPrefix: ord1_, keyVariable: ORDER_KEY }\n`;
  const texts = { 'guide.md': '# How\n', 'news.md': '# News\n' };
  expect((await loadAll({ ...files, ...texts, 'services.yaml': api + services })).api).toEqual({
    title: 'Order API',
    basePath: '/shop',
    guide: '# How\n',
    clients: undefined,
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

test('PUBLIC_URL must not have a base path, which would be in addresses twice', async () => {
  const files = { 'services.yaml': services, 'orders.yaml': `servers: [{ url: /shop/v2 }]\n${orders}` };
  await expect(loadAll(files, 'https://example.com/shop/v2')).rejects.toMatchObject({
    issues: ['PUBLIC_URL ends in /shop/v2, which the gateway adds itself: leave it out'],
  });
  await expect(loadAll(files, 'https://example.com/v1')).resolves.toMatchObject({
    services: [{ name: 'orders' }],
  });
});
