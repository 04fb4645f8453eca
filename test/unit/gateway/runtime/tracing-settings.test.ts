import { expect, test } from 'vitest';
import { loadConfig } from '../../../../gateway/config/config.ts';
import { loadConfig as loadPetsConfig } from '../../../../pets-service/config.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const load = (env: Record<string, string>) => loadConfig(env).tracing;

test.each([
  {},
  { OTEL_SERVICE_NAME: 'edge', OTEL_TRACES_SAMPLER: 'always_on' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
  { ...endpoint, OTEL_SDK_DISABLED: 'true' },
  { OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'TRUE' },
])('no traces are exported with %j', (env: Record<string, string>) => {
  expect(load(env)).toBeUndefined();
  expect(loadPetsConfig(env).tracing).toBeUndefined();
});

test.each([
  endpoint,
  { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/traces' },
  { OTEL_TRACES_EXPORTER: 'otlp' },
])('traces are exported with %j', (env: Record<string, string>) => {
  expect(load(env)).toMatchObject({ protocol: 'http/protobuf', sampler: 'parentbased_always_on' });
  expect(loadPetsConfig(env).tracing).toBeDefined();
});

test('the settings survive the way to a worker, as JSON', () => {
  expect(JSON.parse(JSON.stringify(load(endpoint)))).toEqual(load(endpoint));
});

test('the name of the service wins over its attribute, and the setting of traces over that of all signals', () => {
  expect(
    load({
      ...endpoint,
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=other, service.version=1%2C2,empty=',
      OTEL_SERVICE_NAME: 'edge',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      OTEL_BSP_MAX_QUEUE_SIZE: '100',
    }),
  ).toMatchObject({
    protocol: 'http/json',
    resource: { 'service.name': 'edge', 'service.version': '1,2', empty: '' },
    batch: { maxQueueSize: 100, maxExportBatchSize: 100 },
  });
});

test.each(['0', '1', '1.0', '0.25', '.5'])('the ratio %s is accepted', (ratio) => {
  expect(load({ ...endpoint, OTEL_TRACES_SAMPLER_ARG: ratio })?.samplerRatio).toBe(Number(ratio));
});

test.each(['1.1', '-0.5', 'half', '1e-3', '.'])('the ratio %s is refused', (ratio) => {
  expect(() => load({ ...endpoint, OTEL_TRACES_SAMPLER_ARG: ratio })).toThrow('is not a number from 0 to 1');
});

test.each(['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES'])(
  '%s with an invalid entry is refused',
  (name) => {
    for (const list of ['novalue', 'a=1,,b=2', '=1', 'a=%zz', 'a b=1'])
      expect(() => load({ ...endpoint, [name]: list }), list).toThrow(`has no name=value in entry`);
  },
);

test('headers are never repeated in an error', () => {
  expect(() => load({ OTEL_EXPORTER_OTLP_HEADERS: 'authorization=hushhush,nonsense' })).toThrow(
    /^OTEL_EXPORTER_OTLP_HEADERS has no name=value in entry 2$/,
  );
});
