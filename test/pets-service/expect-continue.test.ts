import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issueServiceToken, loadPrivateKey } from '../../gateway/upstream/internal-token.ts';
import { sendRaw } from '../support/http/http.ts';
import { startPetsService, type Service } from '../support/kits/service.ts';
import { temporaryDirectory, type TemporaryDirectory } from '../support/kits/temporary-directory.ts';
import { anyDatabase } from '../support/stores/stores.ts';

describe('a request with Expect: 100-continue', () => {
  let directory: TemporaryDirectory;
  let service: Service;
  let token: string;

  beforeAll(async () => {
    directory = await temporaryDirectory();
    service = await startPetsService({ DATA_DIR: directory.path, ...(await anyDatabase()) });
    token = issueServiceToken(loadPrivateKey(undefined, directory.path), 'tests', 600);
  });
  afterAll(async () => {
    await service[Symbol.asyncDispose]();
    await directory[Symbol.asyncDispose]();
  });

  const body = '{"name":"Held back","categoryId":1}';
  const post = (bearer: string, type = 'application/json') =>
    sendRaw(
      service.port,
      [
        'POST /v1/pets HTTP/1.1',
        'Host: pets',
        `Authorization: Bearer ${bearer}`,
        `Content-Type: ${type}`,
        `Content-Length: ${body.length}`,
        'Expect: 100-continue',
        'Connection: close',
        '',
        body,
      ].join('\r\n'),
    );

  test('gets 100 Continue and then its response', async () => {
    const responses = await post(token);
    expect(responses.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 201']);
  });

  test.each([
    ['without a valid token', 'x', undefined, 401],
    ['with a media type other than JSON', undefined, 'text/plain', 415],
  ])('%s is refused without 100 Continue', async (_name, bearer, type, status) => {
    const responses = await post(bearer ?? token, type);
    expect(responses.match(/^HTTP\/1\.1 \d+/gm)).toEqual([`HTTP/1.1 ${status}`]);
  });
});
