import { describe, expect, test } from 'vitest';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';
import { startPostgresServer } from '../support/stores/postgres-server.ts';
import { startTraceCollector, type CollectedSpan } from '../support/stores/trace-collector.ts';

const serverKind = 2;

/** All services of a request, from the gateway to PostgreSQL, export their spans to one collector. */
describe('a trace', { tags: ['postgresql'] }, () => {
  const postgres = shared(startPostgresServer);
  const collector = shared(startTraceCollector);
  const both = shared(async () =>
    startBothServices({ ...collector.env, DATABASE_URL: await postgres.createDatabase('pets') }),
  );
  /** Server span of the gateway for a response. */
  const rootOf = (response: ClientResponse) =>
    collector.spans.find((span) => span.attributes['gateway.request_id'] === response.header('X-Request-Id'));

  /** Spans of the trace of a response, once those of both services have arrived. */
  async function traceOf(response: ClientResponse, size: number): Promise<CollectedSpan[]> {
    const spans = () => collector.spans.filter(({ traceId }) => traceId === rootOf(response)?.traceId);
    await expect.poll(() => spans().length, { timeout: 5000 }).toBe(size);
    return spans();
  }

  function find(spans: readonly CollectedSpan[], name: string, service = 'gateway'): CollectedSpan {
    const span = spans.find((candidate) => candidate.name === name && candidate.service === service);
    if (span === undefined) throw new Error(`${service} has no span ${name}`);
    return span;
  }

  const tree = (spans: readonly CollectedSpan[]) => collector.tree(spans[0]?.traceId ?? '');

  /** Trace ids in the access logs of a request. */
  const loggedTraceIds = (response: ClientResponse) =>
    [both.gateway, both.petsService].map((service) => {
      const id = response.header('X-Request-Id') ?? '';
      const line = service
        .output()
        .split('\n')
        .find((text) => text.includes(`"requestId":"${id}"`) && text.includes('"msg":"request"'));
      return line === undefined ? undefined : (JSON.parse(line) as { trace_id?: string }).trace_id;
    });

  const served = [
    'gateway: GET /v1/pets',
    '  gateway: decide quota',
    '  gateway: GET',
    '    pets-service: GET /v1/pets',
  ];

  test('of a 200 leads from the gateway to the pets service, and both access logs name it', async () => {
    const response = await send(`${both.gateway.url}/v1/pets?limit=2`, { key: both.key });
    expect(response.status).toBe(200);
    const spans = await traceOf(response, served.length);
    expect(tree(spans).toSorted()).toEqual(served.toSorted());
    expect(find(spans, 'GET /v1/pets')).toMatchObject({
      kind: serverKind,
      status: { code: 0 },
      attributes: {
        'http.request.method': 'GET',
        'http.route': '/v1/pets',
        'url.scheme': 'http',
        'http.response.status_code': 200,
        'client.address': '127.0.0.1',
        'gateway.plan': 'enterprise',
        'gateway.decision': 'allowed',
      },
    });
    expect(find(spans, 'GET').attributes).toMatchObject({
      'http.request.method': 'GET',
      'server.address': '127.0.0.1',
      'http.response.status_code': 200,
    });
    expect(find(spans, 'GET /v1/pets', 'pets-service').attributes).toMatchObject({
      'http.route': '/v1/pets',
      'http.response.status_code': 200,
      'pets.issuer': 'gateway',
      'pets.request_id': response.header('X-Request-Id'),
    });
    const { traceId = '' } = rootOf(response) ?? {};
    await expect.poll(() => loggedTraceIds(response)).toEqual([traceId, traceId]);
    const instances = new Set(spans.map(({ resource }) => resource['service.instance.id']));
    expect(instances.size).toBe(2);
  });

  test('holds no key, no token, no query and no text of a body', async () => {
    const text = 'Unmistakable Name';
    await postJson(`${both.gateway.url}/v1/pets`, both.key, { name: text, categoryId: 1 });
    await postJson(
      `${both.gateway.url}/v1/pets`,
      both.key,
      { name: text, categoryId: 1 },
      { 'Idempotency-Key': 'hushhush' },
    );
    await send(`${both.gateway.url}/v1/pets?limit=1&token=hushhush`, { key: both.key });
    await send(`${both.gateway.url}/v1/pets/${both.key}`, { key: both.key });
    await send(`${both.gateway.url}/${both.key}`, {
      headers: { host: `${both.key}.example.com`, 'user-agent': both.key },
    });
    const direct = `${both.petsService.url}/v1/pets/${both.token}`;
    await send(direct, { key: both.token });
    const last = await send(`${both.gateway.url}/v1/pets`, { key: both.key });
    await traceOf(last, served.length);
    const directSpan = () => collector.spans.find(({ attributes }) => attributes['pets.caller'] === 'tests');
    await expect.poll(() => directSpan()?.attributes['http.route']).toBe('/v1/pets/{petId}');
    const exported = collector.bodies.join('\n');
    for (const secret of [both.key, both.token, text, 'hushhush', 'limit=1', 'Bearer'])
      expect(exported).not.toContain(secret);
  });
});
