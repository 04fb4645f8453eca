import type { OperationAccess } from '../../limits/access.ts';
import type { ApiDocument, Operation, Schema } from '../../upstream/api-document.ts';
import { plainText } from './html.ts';
import type { OperationSettings } from './operation-section.ts';
import { createSamples, exampleBody } from './samples.ts';
import { describeType } from './schema-type.ts';

/**
 * The reference as Markdown, for programs that read it, such as language models.
 * @param accessOf what an operation asks of a key, by method and path
 */
export function referenceMarkdown(
  { title, version, description, operations, schemas }: ApiDocument,
  accessOf: ReadonlyMap<string, OperationAccess | undefined>,
  settings: OperationSettings,
): string {
  return `# ${title} ${version}

${description}

${operations.map((operation) => operationMarkdown(operation, accessOf.get(`${operation.method} ${operation.path}`), settings)).join('\n\n')}

## Schemas

${schemas.map(({ name, schema }) => `### ${name}\n\n${schemaMarkdown(schema)}`).join('\n\n')}
`;
}

const typeOf = (schema: Schema) => plainText(describeType(schema)).trim();
const fence = (language: string, code: string) => `\`\`\`${language}\n${code.trimEnd()}\n\`\`\``;

/** An item of a list. Its text stays in one line. */
function field(name: string, notes: readonly string[], text = ''): string {
  const lines = text.split('\n').map((line) => line.trim());
  const line = lines.filter((line) => line !== '').join(' ');
  return `- \`${name}\` (${notes.filter((note) => note !== '').join(', ')})${line === '' ? '' : `: ${line}`}`;
}

function operationMarkdown(
  operation: Operation,
  access: OperationAccess | undefined,
  { keyVariable, scopeHolder }: OperationSettings,
): string {
  const { summary, method, path, deprecated, description, parameters, requestBody, responses } = operation;
  const { scopes = [], cost = 1 } = access ?? {};
  const [sample] = createSamples(operation, keyVariable);
  const body = requestBody?.['application/json']?.schema;
  const parts = [
    `## ${summary}`,
    `\`${method} ${path}\`${deprecated ? ' (deprecated)' : ''}`,
    description.trim(),
    cost === 1 ? '' : `Costs ${cost} of the limits’ requests.`,
    scopes.length === 0 ? '' : `${scopeHolder} needs ${scopes.map((scope) => `\`${scope}\``).join(' ')}.`,
    parameters.length === 0
      ? ''
      : `Parameters:\n\n${parameters
          .map(({ name, in: place, required, schema, description: text }) =>
            field(name, [place, required ? 'required' : '', typeOf(schema)], text),
          )
          .join('\n')}`,
    body === undefined ? '' : `Body, JSON: ${typeOf(body)}`,
    exampleBody(operation) === undefined ? '' : fence('json', exampleBody(operation) ?? ''),
    `Responses:\n\n${responses
      .map(({ status, response }) => {
        const { schema } = response.content['application/json'] ?? {};
        return field(status, [schema === undefined ? 'no body' : typeOf(schema)], response.description);
      })
      .join('\n')}`,
    sample === undefined ? '' : fence('sh', sample.code),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function schemaMarkdown(schema: Schema): string {
  const { properties, required = [], description = '' } = schema;
  const fields =
    properties === undefined
      ? typeOf(schema)
      : Object.entries(properties)
          .map(([name, property]) =>
            field(name, [typeOf(property), required.includes(name) ? '' : 'optional'], property.description),
          )
          .join('\n');
  return [description.trim(), fields].filter((part) => part !== '').join('\n\n');
}
