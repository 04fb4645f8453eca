import { expect, test } from 'vitest';
import { loadDocs } from '../../../../gateway/faces/docs/docs.ts';
import { loadApiDescription } from '../../../../gateway/upstream/api-description.ts';

const responses = "responses: { '200': { description: Found, content: { application/json: {} } } }";
const boxes = {
  name: 'boxes',
  description: {
    file: 'boxes.yaml',
    text: `openapi: 3.1.1
info: { title: Boxes, version: 1.0.0 }
paths:
  /boxes:
    get: { operationId: listBoxes, summary: List boxes, ${responses} }
    post: { operationId: addBox, summary: Add a box, ${responses} }
  /reports:
    get:
      operationId: report
      summary: Report
      security: [{ apiKey: [boxes:report, boxes:read] }]
      x-quota-cost: 5
      ${responses}
  /free:
    get: { operationId: free, summary: Free, security: [{ apiKey: [] }], ${responses} }
`,
  },
};
const api = loadApiDescription(undefined, [boxes]);
const operation = (path: string, method = 'GET') => api.match(`/v1${path}`)?.service?.operations[method];

test('scopes and costs are those of the description', () => {
  expect(operation('/reports')).toMatchObject({ scopes: ['boxes:report', 'boxes:read'], cost: 5 });
  expect(operation('/free')).toMatchObject({ scopes: [] });
  expect(api.access).toEqual({
    scopes: ['boxes:read', 'boxes:write', 'boxes:report'],
    costs: [{ operation: 'GET /v1/reports', units: 5, scopes: ['boxes:report', 'boxes:read'] }],
  });
});

test('the reference says what an operation costs, and which scopes it needs', () => {
  const text = loadDocs(api)
    .find('/docs/reference')
    ?.text.replaceAll(/<[^>]*>/g, '')
    .replaceAll(/\s+/g, ' ');
  expect(text).toContain(
    'Costs 5 of the limits’ requests. A key with a list of scopes needs boxes:report boxes:read.',
  );
  expect(text).toContain('A key with a list of scopes needs boxes:write.');
  expect(text?.match(/A key with a list of scopes/g)).toHaveLength(3);
});
