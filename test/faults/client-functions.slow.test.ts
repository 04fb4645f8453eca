import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from 'vitest';
import { codeBlock } from '../support/code-block.ts';
import { send } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { pythonPath } from '../support/programs.ts';
import { startBreakingRelay } from '../support/upstreams/breaking-relay.ts';

const creates = 60;

/** Each calls `request` of the guide for the given number of creates at once, and prints the statuses or the error. */
const clients = [
  {
    language: 'ts',
    document: 'gateway/faces/docs/guide.md',
    status: 'sold',
    tags: [],
    command: process.execPath,
    file: 'client.mts',
    part: 'async function request(',
    main: `
const [url, key, count] = process.argv.slice(2);
const create = async (_: unknown, number: number) => {
  const response = await request(\`\${url}/v1/pets\`, {
    method: 'POST',
    headers: { Authorization: \`Bearer \${key}\`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: \`ts \${number}\`, categoryId: 1, status: 'sold' }),
  });
  return response.status;
};
try {
  console.log((await Promise.all(Array.from({ length: Number(count) }, create))).join(' '));
} catch (error) {
  console.log(String(error));
}
`,
  },
  {
    language: 'python',
    document: 'gateway/CLIENTS.md',
    status: 'pending',
    tags: ['python-requests'],
    command: pythonPath ?? '',
    file: 'client.py',
    part: 'def request(',
    main: `
import sys
from concurrent.futures import ThreadPoolExecutor

url, key, count = sys.argv[1:]

def create(number):
    pet = {"name": f"python {number}", "categoryId": 1, "status": "pending"}
    return request("POST", f"{url}/v1/pets", headers={"Authorization": f"Bearer {key}"}, json=pet).status_code

try:
    with ThreadPoolExecutor(int(count)) as pool:
        print(*pool.map(create, range(int(count))))
except RuntimeError as error:
    print(error)
`,
  },
];

const services = shared(startBothServices);
const kit = shared(startGatewayKit);

describe.each(clients)('the function of the guide in $language', ({ tags, ...client }) => {
  /** @returns what the client prints */
  async function run(url: string, key: string, count: number): Promise<string> {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, client.file);
    await writeFile(file, (await codeBlock(client.document, client.language, client.part)) + client.main);
    const child = spawn(client.command, [file, url, key, String(count)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return output.trim();
  }

  test(
    `through connections that break, ${creates} creates add ${creates} pets`,
    { tags, timeout: 120_000 },
    async () => {
      await using relay = await startBreakingRelay({
        port: services.gateway.port,
        odds: 0.15,
        random: Math.random,
      });
      const statuses = await run(`http://127.0.0.1:${relay.port}`, services.key, creates);
      expect(statuses.split(' ')).toEqual(Array.from({ length: creates }, () => '201'));
      expect(relay.broken['after request'] + relay.broken['before response']).toBeGreaterThan(0);
      const url = `${services.gateway.url}/v1/pets?status=${client.status}&limit=100`;
      const pets = (await send(url, { key: services.key })).json as { name: string }[];
      const names = pets.map(({ name }) => name).filter((name) => name.startsWith(client.language));
      expect(names).toHaveLength(creates);
      expect(new Set(names).size).toBe(creates);
    },
  );

  test(
    'retries with one key after Retry-After, a fresh one for each create, and no other error',
    { tags },
    async () => {
      const { key } = await kit.issue();
      kit.upstream.seen.length = 0;
      const responses = [
        [409, { code: 'idempotency_key_in_use' }],
        'broken',
        [429, { code: 'rate_limit_exceeded' }],
        [201, { id: 1 }],
        [422, { code: 'idempotency_key_reused' }],
      ] as const;
      kit.upstream.response = (req, res) => {
        const response = responses[kit.upstream.seen.length - 1];
        if (response === undefined || response === 'broken') return void req.socket.destroy();
        const headers = { 'content-type': 'application/json', 'retry-after': '1' };
        res.writeHead(response[0], headers).end(JSON.stringify(response[1]));
      };
      const startedAt = performance.now();
      expect(await run(kit.upstream.url, key, 1)).toBe('201');
      expect(performance.now() - startedAt).toBeGreaterThan(1000);
      expect(await run(kit.upstream.url, key, 1)).toBe('422');
      const [first, second, third, fourth, other] = kit.upstream.seen.map(
        ({ headers }) => headers['idempotency-key'],
      );
      expect(first).toMatch(/^"[\w-]{36}"$/);
      expect([second, third, fourth]).toEqual([first, first, first]);
      expect(other).toMatch(/^"[\w-]{36}"$/);
      expect(other).not.toBe(first);
      // No gateway has sent these: they have the client's own key.
      kit.upstream.seen.length = 0;
    },
  );

  test('takes a response that has no body, as a 304 has none', { tags }, async () => {
    const { key } = await kit.issue();
    kit.upstream.response = (_req, res) => void res.writeHead(204).end();
    expect(await run(kit.gateway.url, key, 1)).toBe('204');
  });

  test('says at once that the day is used up', { tags }, async () => {
    const { key } = await kit.issue({ plan: 'enterprise', minute: 100, day: 1 });
    await kit.pets(key);
    expect(await run(kit.gateway.url, key, 1)).toMatch(
      /POST http.* gave up after 1 attempts, the next attempt would be in \d+ s: 429 .*requests a day/,
    );
  });
});
