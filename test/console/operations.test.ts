import { beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { readAudit } from '../../gateway/control/audit/audit-log.ts';
import { operations } from '../../gateway/control/registry.ts';
import { exampleOf, targets } from '../../gateway/control/targets.ts';
import { operationRoutes } from '../../gateway/faces/api/operation-routes.ts';
import { operatorsApiDocument } from '../support/checks/operators-api.ts';
import { send } from '../support/http/http.ts';
import { startConsoleApi } from '../support/kits/console-api-kit.ts';
import { runOps } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';

/** A key whose text is pasted wherever an id belongs. */
let pasted: string;

const api = shared(startConsoleApi);
const operator = shared(() => api.signIn());
const viewer = shared(() => api.signIn({ role: 'viewer' }));
beforeAll(async () => {
  pasted = (await api.issue()).key;
});

const routes = operationRoutes(operations).map(({ method, path, operation, isForViewers }) => ({
  name: operation.operationId,
  method: method.toUpperCase(),
  path: `/api${path}`,
  isForViewers,
  takesInput: operation.input !== undefined,
  fields: operation.input instanceof z.ZodObject ? Object.keys(operation.input.shape) : [],
}));
const leadingTo = (path: string, target: string) => path.replaceAll(/:\w+/g, target);
const bodyOf = (method: string, body: object) => (method === 'GET' ? undefined : body);

describe('an operation with a route', () => {
  test('is served in the document to whoever asks', async () => {
    const { status, json } = await send(`${api.gateway.adminUrl}/api/openapi.json`);
    expect({ status, json }).toEqual({ status: 200, json: operatorsApiDocument });
  });

  test.each(routes.filter(({ isForViewers }) => !isForViewers))(
    '$name is refused to a viewer, and changes nothing',
    async ({ method, path }) => {
      const before = await readAudit(api.redis, 1);
      const refused = await viewer.send(method, leadingTo(path, 'x'), bodyOf(method, {}));
      expect(refused).toMatchObject({ status: 403, body: { code: 'operator_required' } });
      expect(await readAudit(api.redis, 1)).toEqual(before);
    },
  );

  test.each(routes.filter(({ takesInput }) => takesInput))(
    '$name refuses a field that it does not know, by its name',
    async ({ method, path }) => {
      const target = path.replaceAll(/:(\w+)/g, (_, name: string) => targets[name]?.example ?? '');
      const [query, body] = method === 'GET' ? ['?surprise=1', undefined] : ['', { surprise: 1 }];
      expect(await operator.send(method, `${target}${query}`, body)).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('surprise') as string },
      });
    },
  );

  test.each(routes.filter(({ path }) => path.includes(':')))(
    '$name repeats no key that is pasted in place of an id',
    async ({ method, path }) => {
      const response = await operator.send(method, leadingTo(path, pasted), bodyOf(method, {}));
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(response.body)).not.toContain(pasted.slice(0, 20));
    },
  );
});

test.each(
  routes.flatMap(({ name, path, method, fields }) =>
    ['search', 'target']
      .filter((field) => method === 'GET' && fields.includes(field))
      .map((field) => [name, field, path]),
  ),
)('%s refuses a pasted key as its %s, and does not repeat it', async (_name, field, path) => {
  for (const text of [pasted, pasted.slice(5), pasted.slice(0, -8), `Bearer ${pasted}`]) {
    const { status, body } = await operator.send('GET', `${path}?${field}=${encodeURIComponent(text)}`);
    expect(status).toBe(422);
    expect(JSON.stringify(body)).not.toContain(pasted.slice(5, 30));
  }
});

const commands = operations.flatMap(({ kind, operationId, command }) =>
  command === undefined ? [] : [{ name: operationId, kind, ...command }],
);

const ops = (...args: string[]) =>
  runOps(args, {
    REDIS_URL: api.server.url,
    PUBLIC_URL: 'https://api.example.com',
    WEBHOOK_ALLOWED_NETWORKS: '192.0.2.0/24',
  });

/** Runs a command that has to succeed. @returns what it prints */
async function make(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await ops(...args, '--json');
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  return JSON.parse(stdout) as Record<string, unknown>;
}

const idFrom = async (...args: string[]) => String((await make(...args))['id']);
const newKey = () => idFrom('keys', 'issue', '--plan', 'free', '--name', 'Acme');
const newCustomer = () => idFrom('customers', 'create', '--plan', 'pro', '--name', 'Acme');

/** Makes what an id in an example stands for, by the beginning of the id. */
const fixtures: Readonly<Record<string, () => Promise<string>>> = {
  key: newKey,
  cus: newCustomer,
  wh: () => idFrom('webhooks', 'add', 'https://192.0.2.1/events', '--types', 'ban.began'),
  token: () => idFrom('api-tokens', 'issue', '--scopes', 'plans:read', '--expires', '30d'),
  async console() {
    const person = await api.signIn();
    const { items } = (await person.send('GET', '/api/sessions')).body as {
      items: { id: string; own: boolean }[];
    };
    return items.find(({ own }) => own)?.id ?? '';
  },
};

/** What has to be so before a command, by the operation; given the id in its example. */
const before: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
  removePlan: () => make('plans', 'set', 'gold', '--create', '--minute', '500'),
  liftBan: (id) => make('bans', 'add', id, '--for', '1h', '--reason', 'scraping'),
  async resetCustomerDay(id) {
    const { key } = await make('keys', 'issue', '--customer', id);
    await api.pets(String(key));
  },
  resumeCustomer: (id) => make('customers', 'suspend', id),
};

describe('an operation with a command', () => {
  test.each(commands)(
    '$name does what its example says, with --json',
    async ({ name, kind, asks, usage, examples: [example = ''] = [exampleOf(usage)] }) => {
      let id = '';
      const words = [];
      for (const [, quoted, word = ''] of example.replace(/ > .*/, '').matchAll(/"([^"]*)"|(\S+)/g)) {
        const made = quoted === undefined ? fixtures[/^([a-z]+)_[\da-f]+$/.exec(word)?.[1] ?? ''] : undefined;
        words.push(made === undefined ? (quoted ?? word) : (id = await made()));
      }
      await before[name]?.(id);
      if (kind !== 'change') return void (await make(...words));
      const reason = words.includes('--reason') ? [] : ['--reason', 'OPS-7'];
      await make(...words, '--as', 'grace', ...reason, ...(asks ? ['--yes'] : []));
      const given = [...words, ...reason];
      expect(await readAudit(api.redis, 1)).toMatchObject([
        { who: 'grace', reason: given[given.indexOf('--reason') + 1] },
      ]);
    },
  );

  test.each(commands.filter(({ usage }) => usage.includes('<')))(
    '$name repeats no key that is pasted in place of an id, and changes nothing',
    async ({ usage }) => {
      const entries = await readAudit(api.redis, 1);
      const { code, stdout, stderr } = await ops(...usage.replace(/ <.*/, '').split(' '), pasted, '--json');
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).not.toContain(pasted.slice(0, 20));
      expect(await readAudit(api.redis, 1)).toEqual(entries);
    },
  );
});
