import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { apiRoutes } from '../../../../../gateway/faces/api/api.ts';
import { describeApi } from '../../../../../gateway/faces/api/document.ts';

const path = new URL('../../../../../gateway/faces/api/openapi.yaml', import.meta.url);

test('openapi.yaml is what the routes say: npm run describe:operators-api', () => {
  const document: unknown = JSON.parse(JSON.stringify(describeApi(apiRoutes)));
  expect(parse(readFileSync(path, 'utf8'))).toEqual(document);
});
