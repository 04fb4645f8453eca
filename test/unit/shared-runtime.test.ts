import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = (service: string) => new URL(`../../${service}/runtime/`, import.meta.url);
const names = (service: string) => readdirSync(folder(service)).toSorted();
const read = (service: string, name: string) => readFileSync(new URL(name, folder(service)), 'utf8');

test.each(names('pets-service'))('%s is identical in both services', (name) => {
  expect(names('gateway')).toContain(name);
  expect(read('pets-service', name)).toBe(read('gateway', name));
});
