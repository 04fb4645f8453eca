import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { recordSecrets } from '../support/checks/evidence.ts';
import { postJson, send, sendRaw } from '../support/http/http.ts';
import { startPetsService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { anyDatabase } from '../support/stores/stores.ts';

let token: string;

const directory = shared(temporaryDirectory);
const service = shared(async () => startPetsService({ DATA_DIR: directory.path, ...(await anyDatabase()) }));
beforeAll(() => {
  token = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600, 'pets-service');
  recordSecrets(token);
});

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/;

test('a well-formed X-Request-Id is kept, in the response and in the log', async () => {
  const headers = { 'x-request-id': 'billing-2026.11_22' };
  const response = await send(`${service.url}/v1/pets`, { key: token, headers });
  expect(response.header('X-Request-Id')).toBe('billing-2026.11_22');
  await expect.poll(() => service.output()).toContain('"requestId":"billing-2026.11_22"');
});

test.each([
  ['none', undefined],
  ['one with a line break in it', 'a%0Ab'],
])('a request with %s gets an id, and the log has the same', async (_name, offered) => {
  const headers: Record<string, string> = offered === undefined ? {} : { 'x-request-id': offered };
  const response = await send(`${service.url}/v1/pets/0`, { key: token, headers });
  const id = response.header('X-Request-Id') ?? '';
  expect(id).toMatch(uuid);
  await expect.poll(() => service.output()).toContain(`"requestId":"${id}"`);
});

test.each(['/livez', '/metrics', '/nothing'])('%s has an id, too', async (path) => {
  expect((await send(service.url + path)).header('X-Request-Id')).toMatch(uuid);
});

test('/metrics counts and times requests', async () => {
  const read = async () => (await send(`${service.url}/metrics`)).text;
  await send(`${service.url}/v1/pets`, { key: token });
  await postJson(`${service.url}/v1/pets`, token, { name: 'Rex', categoryId: 1 });
  await send(`${service.url}/v1/pets/77`, { key: token });
  await send(`${service.url}/v1/pets`);
  await expect
    .poll(read)
    .toMatch(/^pets_requests_total\{route="\/v1\/pets",method="GET",status="401",caller="none"\} 1$/m);
  const text = await read();
  for (const line of [
    'pets_requests_total{route="/v1/pets",method="GET",status="200",caller="ops"}',
    'pets_requests_total{route="/v1/pets",method="POST",status="201",caller="ops"}',
    'pets_requests_total{route="/v1/pets/{petId}",method="GET",status="404",caller="ops"}',
    'pets_request_duration_seconds_count{route="/v1/pets",method="POST"}',
    'process_cpu_user_seconds_total',
  ]) {
    expect(text).toMatch(new RegExp(`^${line.replaceAll(/[{}]/g, String.raw`\$&`)} [\\d.e-]+$`, 'm'));
  }
});

test('a caller cannot add labels: other paths, methods and names share one', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  for (let index = 0; index < 20; index += 1) {
    const key = issueServiceToken(privateKey, `subject-${index}`, 60, 'pets-service');
    await send(`${service.url}/v1/invented-${index}`, { key, method: 'PROPFIND' });
  }
  await expect
    .poll(async () => (await send(`${service.url}/metrics`)).text)
    .toMatch(/^pets_requests_total\{route="unmatched",method="other",status="401",caller="none"\} 20$/m);
  const { text } = await send(`${service.url}/metrics`);
  expect(text).not.toMatch(/invented|subject-|PROPFIND/);
});

test.each([
  ['http://store.example/v1/pets?limit=1', 200, /^\[\{"id":1,/],
  ['http://[', 404, /^\{"code":"not_found",/],
  ['ttt://3', 404, /^\{"code":"not_found",/],
])('the target %s gets %i in JSON', async (target, status, body) => {
  const head = `GET ${target} HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`;
  const [start, received] = (await sendRaw(service.port, head)).split(/\r\n(?:.+\r\n)*\r\n/);
  expect(start).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(received).toMatch(body);
});
