import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';

/** Server that sends the first half of a response, then stalls. Arguments: port and bytes of a half. */
const halfResponse = `
  const [port, bytes] = process.argv.slice(1).map(Number);
  require('node:http').createServer((req, res) => {
    if (req.url === '/readyz') return res.end();
    res.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 * bytes });
    res.write('a'.repeat(bytes), () => process.stdout.write('half'));
  }).listen(port, '127.0.0.1', () => process.stdout.write('ready'));
`;

describe('an upstream that is killed in the middle of a response', () => {
  let kit: GatewayKit;
  let key: string;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    kit = await startGatewayKit({ PETS_SERVICE_URL: `http://127.0.0.1:${port}` });
    ({ key } = await kit.issue());
  });

  afterAll(() => kit[Symbol.asyncDispose]());

  async function startHalfUpstream(bytes: number): Promise<ChildProcess> {
    const child = spawn(process.execPath, ['-e', halfResponse, String(port), String(bytes)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    return child;
  }

  async function killHalfway(child: ChildProcess): Promise<void> {
    if (child.stdout === null) throw new Error('the standard output of the upstream is not piped');
    await once(child.stdout, 'data');
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  test.each(['GET', 'POST'])('a small response to %s becomes a complete 502', async (method) => {
    const child = await startHalfUpstream(1000);
    const url = `${kit.gateway.url}/v1/pets`;
    const [response] = await Promise.all([
      method === 'GET' ? send(url, { key }) : postJson(url, key, { name: 'a', categoryId: 1 }),
      killHalfway(child),
    ]);
    expect(response.status).toBe(502);
    expect(response.json).toMatchObject({ code: 'upstream_error', status: 502 });
    expect(response.header('X-RateLimit-Limit')).toBe('60');
  });

  test('a large response ends with a broken connection, not as if it were complete', async () => {
    const child = await startHalfUpstream(1_000_000);
    const response = send(`${kit.gateway.url}/v1/pets`, { key });
    await Promise.all([expect(response).rejects.toThrow(/closed|terminated|aborted/), killHalfway(child)]);
  });
});
