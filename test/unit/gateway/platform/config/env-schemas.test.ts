import { expect, test } from 'vitest';
import { loadConfig } from '../../../../../gateway/platform/config/config.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const load = (env: Record<string, string>) => loadConfig(env).tracing;

test.each([
  {},
  { OTEL_SERVICE_NAME: 'edge', OTEL_TRACES_SAMPLER: 'parentbased_always_on' },
  { OTEL_EXPORTER_OTLP_ENDPOINT: '' },
  { ...endpoint, OTEL_TRACES_EXPORTER: 'none' },
])('no traces are exported with %j', (env: Record<string, string>) => {
  expect(load(env)).toBeUndefined();
});

test.each([
  endpoint,
  { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector/traces' },
  { OTEL_TRACES_EXPORTER: 'otlp' },
])('traces are exported with %j', (env: Record<string, string>) => {
  expect(load(env)).toMatchObject({ protocol: 'http/protobuf', ratio: 1 });
});

test.each(['0', '1', '1.0', '0.25', '.5'])('the ratio %s is accepted', (ratio) => {
  const sampler = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: ratio };
  expect(load({ ...endpoint, ...sampler })?.ratio).toBe(Number(ratio));
});

test.each(['1.1', '-0.5', 'half', '1e-3', '.'])('the ratio %s is refused', (ratio) => {
  expect(() => load({ ...endpoint, OTEL_TRACES_SAMPLER_ARG: ratio })).toThrow('is not a number from 0 to 1');
});
