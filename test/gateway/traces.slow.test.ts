import { describe, expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { startTraceCollector } from '../support/stores/trace-collector.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const traceContext = {
  traceparent: `00-${traceId}-00f067aa0ba902b7-01`,
  tracestate: 'vendor=opaque',
  baggage: 'user=alice',
};

describe('trace context of clients', () => {
  const collector = shared(startTraceCollector);
  const off = shared(startGatewayKit);
  const on = shared(() => startGatewayKit(collector.env));
  const behindProxy = shared(() => startGatewayKit({ ...collector.env, TRUST_PROXY: 'loopback' }));

  /** Sends a request with trace context. @returns what the upstream received of it */
  async function forwarded({ gateway, upstream, issue }: GatewayKit, headers: Record<string, string>) {
    const { key } = await issue();
    const response = await send(`${gateway.url}/v1/pets`, { key, headers });
    expect(response.status).toBe(200);
    const { traceparent, tracestate, baggage } = upstream.seen.at(-1)?.headers ?? {};
    const spans = () => {
      const id = response.header('X-Request-Id');
      const root = collector.spans.find(({ attributes }) => attributes['gateway.request_id'] === id);
      return collector.spans.filter((span) => span.traceId === root?.traceId);
    };
    return { traceparent, tracestate, baggage, spans };
  }

  test('is not passed on if the gateway exports no traces', async () => {
    const { traceparent, tracestate, baggage } = await forwarded(off, traceContext);
    expect([traceparent, tracestate, baggage]).toEqual([undefined, undefined, undefined]);
    expect(off.gateway.output()).not.toContain('trace_id');
  });

  test('is replaced if they are not trusted: they choose no trace id, no sampling and no baggage', async () => {
    const { traceparent, tracestate, baggage, spans } = await forwarded(on, traceContext);
    expect({ tracestate, baggage }).toEqual({ tracestate: undefined, baggage: undefined });
    await expect.poll(() => spans().length).toBe(3);
    const attempt = spans().find(({ name }) => name === 'GET');
    expect(attempt?.traceId).not.toBe(traceId);
    expect(traceparent).toBe(`00-${attempt?.traceId}-${attempt?.spanId}-01`);
  });

  test('of a trusted proxy is continued', async () => {
    const { traceparent, tracestate, baggage, spans } = await forwarded(behindProxy, traceContext);
    expect({ tracestate, baggage }).toEqual({ tracestate: 'vendor=opaque', baggage: 'user=alice' });
    await expect.poll(() => spans().length).toBe(3);
    const root = spans().find(({ name }) => name === 'GET /v1/pets');
    expect(root).toMatchObject({ traceId, parentSpanId: '00f067aa0ba902b7' });
    const attempt = spans().find(({ name }) => name === 'GET');
    expect(traceparent).toBe(`00-${traceId}-${attempt?.spanId}-01`);
  });
});

describe('the export of traces', () => {
  const served = async ({ gateway, issue }: GatewayKit, times = 1) => {
    const { key } = await issue();
    for (let index = 0; index < times; index += 1) {
      expect((await send(`${gateway.url}/v1/pets`, { key })).status).toBe(200);
    }
  };

  test('has the name and the attributes of the service that the variables say', async () => {
    await using collector = await startTraceCollector();
    await using kit = await startGatewayKit({
      ...collector.env,
      OTEL_SERVICE_NAME: 'edge',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging%20two',
    });
    await served(kit);
    await expect.poll(() => collector.bodies.join('')).toContain('GET /v1/pets');
    for (const text of ['edge', 'staging two', 'service.instance.id'])
      expect(collector.bodies.join('')).toContain(text);
  });

  test.each([1, 2])('of %d processes is complete when the gateway has stopped', async (workers) => {
    await using collector = await startTraceCollector();
    await using kit = await startGatewayKit({ ...collector.env, GATEWAY_WORKERS: String(workers) });
    await served(kit, 4);
    expect(await kit.gateway.stop()).toBe(0);
    expect(collector.spans.filter(({ name }) => name === 'GET /v1/pets')).toHaveLength(4);
    const instances = new Set(collector.spans.map(({ resource }) => resource['service.instance.id']));
    expect(instances.size).toBe(workers);
  });

  test('harms no request if it fails, and is logged once', async () => {
    await using collector = await startTraceCollector();
    collector.status = 400;
    await using kit = await startGatewayKit(collector.env);
    const exported = async () => {
      await served(kit);
      return collector.bodies.length;
    };
    await expect.poll(exported).toBeGreaterThan(3);
    await kit.gateway.stop();
    const lines = kit.gateway.output().split('"traces are not exported completely"').length - 1;
    expect(lines).toBe(1);
  });

  // Less than the exporter's own timeout, 10 s.
  test('to a collector that does not respond does not delay the stop', { timeout: 8000 }, async () => {
    await using collector = await startTraceCollector();
    collector.status = undefined;
    await using kit = await startGatewayKit(collector.env);
    await served(kit);
    await expect.poll(() => collector.bodies.length).toBe(1);
    await served(kit);
    expect(await kit.gateway.stop()).toBe(0);
  });
});
