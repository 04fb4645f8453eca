import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';

/** A program that answers one half, of as many bytes as its argument says, and then waits. */
const halfResponse = `
  const [port, bytes] = process.argv.slice(1).map(Number);
  require('node:http').createServer((req, res) => {
    if (req.url === '/readyz') return res.end();
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 * bytes });
    res.write('a'.repeat(bytes), () => process.stdout.write('half'));
  }).listen(port, '127.0.0.1', () => process.stdout.write('ready'));
`;

describe('the pets service is killed in the middle of an answer', () => {
  let kit: GatewayKit;
  let key: string;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    kit = await startGatewayKit({ PETS_SERVICE_URL: `http://127.0.0.1:${port}` });
    ({ key } = await kit.issue());
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  async function launch(bytes: number): Promise<ChildProcess> {
    const child = spawn(process.execPath, ['-e', halfResponse, String(port), String(bytes)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  }

  async function killHalfway(child: ChildProcess): Promise<void> {
    if (child.stdout === null) throw new Error('its output is not read');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  test.each(['GET', 'POST'])('a small answer to %s: a whole 502', async (method) => {
    const child = await launch(1000);
    const url = `${kit.gateway.url}/v1/pets`;
    const [response] = await Promise.all([
      method === 'GET' ? send(url, { key }) : postJson(url, key, { name: 'a', categoryId: 1 }),
      killHalfway(child),
    ]);
    expect(response.status).toBe(502);
    expect(response.json).toMatchObject({ code: 'upstream_error', status: 502 });
    expect(response.header('X-RateLimit-Limit')).toBe('60');
  });

  test('a large answer: the client is cut off, and can’t take it for whole', async () => {
    const child = await launch(1_000_000);
    const response = send(`${kit.gateway.url}/v1/pets`, { key });
    await Promise.all([expect(response).rejects.toThrow(/closed|terminated|aborted/), killHalfway(child)]);
  });

  test('and afterwards: 503, until it is back', async () => {
    const pets = () => send(`${kit.gateway.url}/v1/pets`, { key });
    const response = await pets();
    expect(response.status).toBe(503);
    expect(response.json).toMatchObject({ code: 'upstream_unavailable' });
    const child = await launch(1);
    await expect
      .poll(async () => (await send(`${kit.gateway.adminUrl}/readyz`)).json)
      .toMatchObject({ upstreams: { [`http://127.0.0.1:${port}`]: 'ready' } });
    // It is there again, and answers its half.
    const half = pets();
    await killHalfway(child);
    expect((await half).status).toBe(502);
  });
});
