import { describe, expect, test } from 'vitest';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { expectRefusal } from '../support/checks/refusal.ts';
import { send, type ClientResponse } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';

const both = shared(startBothServices);

/** Sends it through the gateway and directly to the pets service, and expects the same response. */
async function create(body: string | Buffer, type = 'application/json'): Promise<ClientResponse> {
  const headers = { 'content-type': type };
  const [response, direct] = await Promise.all([
    send(`${both.gateway.url}/v1/pets`, { method: 'POST', key: both.key, headers, body }),
    send(`${both.petsService.url}/v1/pets`, { method: 'POST', key: both.token, headers, body }),
  ]);
  const withoutId = ({ status, text }: ClientResponse) => ({ status, text: text.replace(/"id":\d+/, '') });
  expect(withoutId(direct)).toEqual(withoutId(response));
  return response;
}

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const petWith = (field: string) => `{"name":"Rex","categoryId":1,"x":${field}}`;

describe('property names that are special in JavaScript', () => {
  test.each([
    '{"__proto__":{"name":"Rex","categoryId":1}}',
    '{"constructor":{"prototype":{"name":"Rex","categoryId":1}}}',
    '{"prototype":{"name":"Rex","categoryId":1}}',
  ])('%s sets no fields of the pet', async (body) => {
    expectRefusal(await create(body), 400, 'invalid_request');
  });

  test.each(['__proto__', 'constructor', 'prototype', '$where'])(
    '%s beside valid fields is ignored, and pollutes no object',
    async (name) => {
      const body = `{"name":"Rex","categoryId":1,"${name}":{"status":"sold","polluted":true,"limit":"1"}}`;
      const response = await create(body);
      expect(response.status).toBe(201);
      expect(Object.keys(response.json as object)).toEqual(['id', 'name', 'categoryId', 'status']);
      expect(response.json).toMatchObject({ status: 'available' });
      const list = await send(`${both.gateway.url}/v1/pets`, { key: both.key });
      expect(list.text).not.toContain('polluted');
      expect((list.json as unknown[]).length).toBeGreaterThan(1);
    },
  );
});

describe('deep nesting', () => {
  test.each([
    ['brackets', nested('[', ']', 500_000)],
    ['unclosed brackets', '['.repeat(1_000_000)],
    ['objects', nested('{"a":', '}', 170_000).replace('}', '1}')],
    ['unclosed objects', '{"a":'.repeat(200_000)],
    ['brackets in an unknown field', petWith(nested('[', ']', 500_000))],
  ])('a megabyte of %s gets 400 without a crash', async (_name, body) => {
    const response = await create(body);
    expect(response.status).toBe(400);
    expect((response.json as { code: string }).code).toMatch(/^invalid_/);
  });
});

describe('a body of many levels', () => {
  const tooDeep = 'The request body is nested too deeply.';

  test.each([
    ['brackets', nested('[', ']', 3000)],
    ['objects', nested('{"a":', '}', 3000).replace('}', '1}')],
    ['brackets in an unknown field', petWith(nested('[', ']', 3000))],
  ])('is said to be nested too deeply: %s', async (_name, body) => {
    const response = await create(body);
    expectRefusal(response, 400, 'invalid_request');
    expect(response.json).toMatchObject({ message: tooDeep });
  });

  test('is accepted with as many as 1,000, and brackets in strings and closed ones do not count', async () => {
    expect((await create(petWith(nested('[', ']', 999)))).status).toBe(201);
    const closed = `[${'[[]],'.repeat(2000)}"${'['.repeat(3000)}"]`;
    expect((await create(petWith(closed))).status).toBe(201);
  });
});

describe('many values', () => {
  test.each([
    ['numbers', petWith(`[${'1,'.repeat(500_000)}1]`)],
    ['objects', petWith(`[${'{},'.repeat(300_000)}{}]`)],
    ['fields', petWith(`{${'"a":1,'.repeat(160_000)}"a":1}`)],
  ])('a megabyte of %s is refused before it is parsed', async (_name, body) => {
    const response = await create(body);
    expectRefusal(response, 400, 'invalid_request');
    expect(response.json).toMatchObject({ message: 'The request body has more than 10,000 values.' });
  });

  test('separators in a string do not count as values', async () => {
    const text = '\\\\",[{'.replace('"', '\\"').repeat(20_000);
    expect((await create(petWith(`"${text}"`))).status).toBe(201);
  });
});

describe('text', () => {
  test.each([
    ['a byte that cannot start a character', [0xff]],
    ['half a character', [0xc3]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate in UTF-8', [0xed, 0xa0, 0x80]],
    ['a character beyond Unicode', [0xf4, 0x90, 0x80, 0x80]],
  ])('%s is not valid UTF-8', async (_name, bytes) => {
    const body = Buffer.concat([
      Buffer.from('{"name":"'),
      Buffer.from(bytes),
      Buffer.from('","categoryId":1}'),
    ]);
    expectRefusal(await create(body), 400, 'invalid_json');
  });

  test.each([`'); DROP TABLE "Pet"; --`, `' OR '1'='1`, '$1', String.raw`\'; --`])(
    'the name %s is stored as it is, and is no part of a statement',
    async (name) => {
      const created = await create(JSON.stringify({ name, categoryId: 1 }));
      expect(created).toMatchObject({ status: 201, json: { name } });
      const { id } = created.json as { id: number };
      const pet = await send(`${both.gateway.url}/v1/pets/${id}`, { key: both.key });
      expect(pet.json).toMatchObject({ id, name });
    },
  );

  test('a byte order mark is ignored (RFC 8259 section 8.1)', async () => {
    expect((await create('\ufeff{"name":"Rex","categoryId":1}')).status).toBe(201);
  });

  test.each(['utf-16le', 'utf-7', 'iso-8859-1', 'utf-8-sig'])(
    'the charset %s is refused',
    async (charset) => {
      const body = Buffer.from('{"name":"Rex","categoryId":1}', 'utf16le');
      expectRefusal(
        await create(body, `application/json; charset=${charset}`),
        415,
        'unsupported_media_type',
      );
    },
  );

  test('the last value of a repeated property counts', async () => {
    const response = await create(
      '{"name":"Rex","categoryId":1,"name":"Max","status":"sold","status":"pending"}',
    );
    expect(response.json).toMatchObject({ name: 'Max', status: 'pending' });
    expectRefusal(await create('{"name":"Rex","categoryId":1,"name":""}'), 400, 'invalid_request');
  });
});

describe('query parameters', () => {
  const list = (query: string) => send(`${both.gateway.url}/v1/pets?${query}`, { key: both.key });

  test.each(
    'limit[]=1 limit[a]=1 limit[__proto__]=1 __proto__=1 __proto__[limit]=1 constructor=1 LIMIT=1'.split(' '),
  )('%s is ignored as unknown', async (query) => {
    const response = await list(query);
    expect(response.status).toBe(200);
    expect((response.json as unknown[]).length).toBeGreaterThan(1);
  });

  test.each(['limit=1&limit=2', 'limit=1&limit[]=2&limit=1', 'status=sold&status=sold', 'cursor=a&cursor=b'])(
    '%s is refused as repeated',
    async (query) => {
      expectRefusal(await list(query), 400, 'invalid_request');
    },
  );

  test.each([
    ...'limit=%00 limit=1%00 limit=%EF%BC%91 limit=%FF limit=% limit=1e1 limit=0x1 limit=+1 limit= status='.split(
      ' ',
    ),
    'status=__proto__',
    'cursor=%00',
    `cursor=${'A'.repeat(8000)}`,
  ])('%.40s is refused as invalid', async (query) => {
    expectRefusal(await list(query), 400, 'invalid_request');
  });
});

test('no service has logged an error', () => {
  for (const service of [both.gateway, both.petsService]) expect(errorLinesOf(service)).toEqual([]);
});
