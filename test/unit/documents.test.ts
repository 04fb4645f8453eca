import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { errorCodes as gatewayCodes } from '../../gateway/errors.ts';
import { createMetrics } from '../../gateway/observability/metrics.ts';
import { errorCodes as petsCodes } from '../../pets-service/errors.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const readme = read('README.md');

/** First cells of the table rows under a heading. */
function firstCells(heading: string): string[] {
  const section = readme.split(`\n### ${heading}\n`)[1]?.split('\n### ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, cell = '']) => cell);
}

test('the README lists every setting, and no other', () => {
  const settings = ['gateway/config/config.ts', 'pets-service/config.ts'].flatMap((path) =>
    [...read(path).matchAll(/^ {2}([A-Z][A-Z_]+): /gm)].map(([, name = '']) => name),
  );
  expect(firstCells('Settings').toSorted()).toEqual([...new Set(settings)].toSorted());
});

test('the README lists every error code, and no other', () => {
  expect(firstCells('Error codes').toSorted()).toEqual(
    [...new Set([...gatewayCodes, ...petsCodes])].toSorted(),
  );
});

test('the README lists every metric of the gateway, and no other', () => {
  const section = readme.split('\n### Metrics and logs\n')[1]?.split('\n### ')[0] ?? '';
  const listed = Array.from(section.matchAll(/`(gateway_\w+)`/g), ([, name = '']) => name);
  const registered = createMetrics({ droppedLogLines: () => 0 })
    .registry.getMetricsAsArray()
    .flatMap(({ name }) => (name.startsWith('gateway_') ? [name] : []));
  expect(listed.toSorted()).toEqual(registered.toSorted());
});
