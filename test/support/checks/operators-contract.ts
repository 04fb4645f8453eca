import { readFileSync } from 'node:fs';
import addFormats from 'ajv-formats';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';
import { parse } from 'yaml';

interface Documented {
  $ref?: string;
  content?: Record<string, { schema: object }>;
}

interface Operation {
  responses: Record<string, Documented>;
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { responses: Record<string, Documented> };
}

const document = parse(
  readFileSync(new URL('../../../gateway/faces/api/openapi.yaml', import.meta.url), 'utf8'),
) as Document;

const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: 'openapi', ...document });

interface Exchange {
  method: string;
  /** Path with query. */
  path: string;
  status: number;
  body: unknown;
}

/** Fails unless the description of the operators' API has this operation, and a response like this one. */
export function expectDescribed({ method, path, status, body }: Exchange): void {
  const segments = path.replace(/\?.*$/, '').split('/');
  const template = Object.keys(document.paths)
    .filter((candidate) => matches(candidate.split('/'), segments))
    // A literal segment goes before a parameter: /keys/find before /keys/{id}.
    .toSorted((one, other) => Number(one.includes('{')) - Number(other.includes('{')))[0];
  const responses = document.paths[template ?? '']?.[method.toLowerCase()]?.responses;
  const documented = responses?.[status] ?? responses?.['default'];
  if (documented === undefined)
    throw new Error(`openapi.yaml does not describe ${method} ${path}: ${status}`);
  const response = document.components.responses[documented.$ref?.split('/').at(-1) ?? ''] ?? documented;
  const schema = response.content?.['application/json']?.schema;
  if (schema === undefined) return expect(body).toBeUndefined();
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as object);
  validate(body);
  expect(validate.errors ?? [], `${method} ${path}: ${JSON.stringify(body)}`).toEqual([]);
}

function matches(template: string[], path: string[]): boolean {
  return (
    template.length === path.length &&
    template.every((segment, index) => segment.startsWith('{') || segment === path[index])
  );
}
