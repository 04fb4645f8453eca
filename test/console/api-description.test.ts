import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, test } from 'vitest';
import { apiErrorCodes } from '../../gateway/faces/api/api-error.ts';
import { apiRoutes } from '../../gateway/faces/api/api.ts';
import {
  describedOperations,
  jsonOf,
  mismatch,
  operatorsApiDocument,
} from '../support/checks/operators-api.ts';

describe('the description of the operators’ API', () => {
  test('is valid OpenAPI 3.1', async () => {
    expect(await new Validator().validate({ ...operatorsApiDocument })).toEqual({ valid: true });
  });

  test('has every route once, and no other', () => {
    const described = describedOperations.map(({ method, path }) => `${method} ${path}`);
    const routes = apiRoutes.map(
      ({ method, path }) => `${method.toUpperCase()} /api${path.replaceAll(/:(\w+)/g, '{$1}')}`,
    );
    expect(described.toSorted()).toEqual(routes.toSorted());
  });

  test('has paths in the order of the alphabet, and each operation has a name of its own', () => {
    const paths = Object.keys(operatorsApiDocument.paths);
    expect(paths).toEqual(paths.toSorted(new Intl.Collator('en').compare));
    const names = describedOperations.map(({ operationId }) => operationId);
    expect(names).toHaveLength(new Set(names).size);
  });

  test('lists exactly the error codes', () => {
    const { code } = operatorsApiDocument.components.schemas.Error.properties;
    expect(new Set(code.enum)).toEqual(new Set(apiErrorCodes));
  });

  test('every operation describes what it returns, and refusals in the Error shape', () => {
    for (const { operationId, responses } of describedOperations) {
      const successes = Object.keys(responses).filter((status) => status.startsWith('2'));
      expect({ operationId, successes: successes.length }).toEqual({ operationId, successes: 1 });
      expect(responses['default'], operationId).toEqual({ $ref: '#/components/responses/Error' });
    }
  });

  test('examples match their schemas', () => {
    const contents = describedOperations.flatMap(({ operationId, requestBody, responses }) => {
      const described = Object.values(responses).map((response) => jsonOf('responses', response));
      return [jsonOf('requestBodies', requestBody), described]
        .flat()
        .map((content) => ({ operationId, content }));
    });
    const examples = contents.flatMap(({ operationId, content }) =>
      content?.example === undefined ? [] : [{ operationId, ...content }],
    );
    expect(examples.length).toBeGreaterThan(3);
    for (const { operationId, schema, example } of examples) {
      expect({ operationId, mismatch: mismatch(schema, example) }).toEqual({
        operationId,
        mismatch: undefined,
      });
    }
  });
});
