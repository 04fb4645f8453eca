import type { Operation, Parameter } from '../../upstream/api-document.ts';

/** Origin in samples, in place of which PUBLIC_URL is served. Without that, a browser puts the origin of the page there. */
export const sampleOrigin = 'http://localhost:8080';

/** Header whose value must differ in each request: with a fixed one, the second reader would get what the first one has made. */
const uniqueHeader = 'Idempotency-Key';

type ExampleRequest = ReturnType<typeof exampleRequest>;

/**
 * Samples of a request with the examples of the description, in the languages that clients are mostly written in.
 * @param keyVariable environment variable that holds the API key
 */
export function createSamples(operation: Operation, keyVariable: string) {
  const request = exampleRequest(operation, keyVariable);
  return [
    { language: 'curl', code: curl(request) },
    { language: 'TypeScript', code: typescript(request) },
    { language: 'Python', code: python(request) },
  ];
}

/** Example of a parameter: the description's own, or a value that its schema allows. */
export function exampleOf({ example, examples, required, schema }: Parameter): string | undefined {
  const [first] = Object.values(examples ?? {});
  const known = example ?? first?.value ?? schema.example ?? schema.examples?.[0];
  return known ?? (required && schema.type === 'integer' ? '1' : undefined);
}

/** Example of the JSON body, indented; undefined if the operation has no body. */
export function exampleBody({ requestBody }: Operation): string | undefined {
  const json = requestBody?.['application/json'];
  const [first] = Object.values(json?.examples ?? {});
  const value = json?.example ?? first?.value;
  return value === undefined ? undefined : JSON.stringify(value, null, 2);
}

/** Its headers are without Authorization, and its body is JSON. */
function exampleRequest(operation: Operation, keyVariable: string) {
  const { method, path, parameters } = operation;
  const inPath = parameters.filter((parameter) => parameter.in === 'path');
  const filled = inPath.reduce(
    (url, parameter) => url.replace(`{${parameter.name}}`, exampleOf(parameter) ?? ''),
    path,
  );
  const body = exampleBody(operation);
  const headers = parameters
    .filter((parameter) => parameter.in === 'header' && exampleOf(parameter) !== undefined)
    .map((parameter): [string, string] => [parameter.name, exampleOf(parameter) ?? '']);
  if (body !== undefined) headers.unshift(['Content-Type', 'application/json']);
  return { keyVariable, method, url: sampleOrigin + filled, headers, body };
}

function curl({ keyVariable, method, url, headers, body }: ExampleRequest): string {
  const options = [
    ...(method === 'GET' || (method === 'POST' && body !== undefined) ? [] : [`--request ${method}`]),
    `--header "Authorization: Bearer $${keyVariable}"`,
    ...headers.map(([name, value]) =>
      name === uniqueHeader
        ? String.raw`--header "${name}: \"$(openssl rand -hex 16)\""`
        : `--header '${name}: ${value}'`,
    ),
    ...(body === undefined ? [] : [`--data '${compact(body).replaceAll("'", String.raw`'\''`)}'`]),
  ];
  return [`curl --include '${url}'`, ...options].join(' \\\n  ');
}

function typescript({ keyVariable, method, url, headers, body }: ExampleRequest): string {
  const lines = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    '  headers: {',
    `    Authorization: \`Bearer \${process.env.${keyVariable}}\`,`,
    ...headers.map(([name, value]) =>
      name === uniqueHeader ? `    '${name}': \`"\${crypto.randomUUID()}"\`,` : `    '${name}': '${value}',`,
    ),
    '  },',
    ...(body === undefined ? [] : [`  body: JSON.stringify(${indent(body, '  ')}),`]),
  ];
  return `const response = await fetch('${url}', {
${lines.join('\n')}
});
console.log(response.status, await response.text());
`;
}

function python({ keyVariable, method, url, headers, body }: ExampleRequest): string {
  const lines = [
    `    "${url}",`,
    '    headers={',
    `        "Authorization": f"Bearer {os.environ['${keyVariable}']}",`,
    // requests itself sets the type of a JSON body.
    ...headers
      .filter(([name]) => name !== 'Content-Type')
      .map(
        ([name, value]) =>
          `        "${name}": ${name === uniqueHeader ? `f'"{uuid.uuid4()}"'` : pythonText(value)},`,
      ),
    '    },',
    ...(body === undefined ? [] : [`    json=${indent(pythonLiteral(JSON.parse(body)), '    ')},`]),
    '    timeout=10,',
  ];
  const modules = headers.some(([name]) => name === uniqueHeader) ? 'import uuid\n' : '';
  return `import os
${modules}import requests

response = requests.${method.toLowerCase()}(
${lines.join('\n')}
)
print(response.status_code, response.text)
`;
}

const compact = (json: string) => JSON.stringify(JSON.parse(json));

const indent = (text: string, prefix: string) => text.replaceAll('\n', `\n${prefix}`);

function pythonText(text: string): string {
  return text.includes('"') ? `'${text.replaceAll("'", String.raw`\'`)}'` : `"${text}"`;
}

/** JSON is Python, but for three words. */
function pythonLiteral(value: unknown): string {
  return JSON.stringify(value, null, 4).replaceAll(
    /"(?:[^"\\]|\\.)*"|\b(?:true|false|null)\b/g,
    (token) => ({ true: 'True', false: 'False', null: 'None' })[token] ?? token,
  );
}
