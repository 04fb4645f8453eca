import { expect, test } from 'vitest';
import { loadConfig } from '../../../../../gateway/platform/config/config.ts';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
const load = (env: Record<string, string>) => loadConfig(env).tracing;

test('traces are off without the address of a collector', () => {
  expect(load({ OTEL_TRACES_SAMPLER_ARG: '1' })).toBeUndefined();
  expect(load({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeUndefined();
});

test.each([
  { ratio: undefined, parsed: 1 },
  { ratio: '0.25', parsed: 0.25 },
  { ratio: '.5', parsed: 0.5 },
  { ratio: '0', parsed: 0 },
])('the ratio $ratio is read as $parsed', ({ ratio, parsed }) => {
  expect(load({ ...endpoint, ...(ratio && { OTEL_TRACES_SAMPLER_ARG: ratio }) })).toEqual({ ratio: parsed });
});

test.each(['1.5', '-0.1', 'half', '1e-2'])('the ratio %s is refused', (ratio) => {
  expect(() => load({ ...endpoint, OTEL_TRACES_SAMPLER_ARG: ratio })).toThrow('is not a number from 0 to 1');
});
