import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { errorLinesOf } from '../support/checks/alarms.ts';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { shared } from '../support/kits/shared.ts';

const attackSeconds = 8;
const connections = 1000;

describe('a thousand slow clients', { tags: ['slowhttptest'] }, () => {
  const both = shared(() => startBothServices({ LOG_LEVEL: 'warn', REQUEST_TIMEOUT_MS: '6000' }));
  let pets: string;

  beforeAll(async () => {
    pets = `${both.gateway.url}/v1/pets`;
    // A page of more than 100 kB, which does not fit into the small TCP windows of slow readers.
    for (let index = 0; index < 100; index += 1) {
      const pet = { name: '🐢'.repeat(255), categoryId: index };
      const status = async () => (await postJson(pets, both.key, pet)).status;
      // 503 if Redis was slow on a busy machine.
      await vi.waitFor(async () => expect(await status()).toBe(201), { timeout: 10_000 });
    }
  });

  /** slowhttptest cannot set Authorization, so the header is injected through the value of another one. */
  const credential = () => ['-m', `application/json\r\nAuthorization: Bearer ${both.key}`];

  async function attack(args: string[]): Promise<void> {
    const length = ['-l', String(attackSeconds), '-c', String(connections), '-p', '5'];
    const tool = spawn('slowhttptest', [...args, ...length], { stdio: 'ignore' });
    await new Promise((resolve) => {
      tool.once('close', resolve);
    });
  }

  async function readGauge(name: string): Promise<number> {
    const { text } = await send(`${both.gateway.adminUrl}/metrics`);
    return Number(new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1] ?? Number.NaN);
  }

  interface Observed {
    responses: ClientResponse[];
    slowestMs: number;
    maxConnections: number;
    maxMemory: number;
  }

  /** Sends valid requests until the attack ends. */
  async function observe(during: Promise<void>): Promise<Observed> {
    const observed: Observed = { responses: [], slowestMs: 0, maxConnections: 0, maxMemory: 0 };
    const finished = new AbortController();
    void during.finally(() => finished.abort());
    while (!finished.signal.aborted) {
      const startedAt = performance.now();
      observed.responses.push(await send(`${pets}?limit=1`, { key: both.key }));
      observed.responses.push(await postJson(pets, both.key, { name: 'Rex', categoryId: 1 }));
      observed.slowestMs = Math.max(observed.slowestMs, performance.now() - startedAt);
      observed.maxConnections = Math.max(observed.maxConnections, await readGauge('gateway_connections'));
      observed.maxMemory = Math.max(observed.maxMemory, await readGauge('process_resident_memory_bytes'));
      await sleep(50);
    }
    return observed;
  }

  const bodies = '-B -r 500 -i 2 -s 8192 -x 10';
  test.each<[string, number, string, () => string[]]>([
    ['with headers that never end', connections / 2, '-H -r 500 -i 2 -x 24', () => []],
    // Refused before the body arrives, so the connections are closed early.
    ['with bodies that never end, without a key', 0, bodies, () => []],
    ['with bodies that never end', connections / 2, `${bodies} -f application/json`, credential],
    [
      'that read their responses very slowly',
      connections / 2,
      '-X -r 200 -w 128 -y 256 -n 2 -z 16',
      credential,
    ],
  ])(
    '%s do not block other clients',
    async (_name, minConnections, args, more) => {
      const observed = await observe(attack(['-u', `${pets}?limit=100`, ...args.split(' '), ...more()]));
      const { responses, maxConnections, maxMemory, slowestMs } = observed;
      console.info(
        `${responses.length} served, slowest pair ${Math.round(slowestMs)} ms; ${maxConnections} connections, ${Math.round(maxMemory / 2 ** 20)} MiB`,
      );
      expect(responses.filter(({ status }) => status !== 200 && status !== 201)).toEqual([]);
      expect(responses.length).toBeGreaterThan(attackSeconds);
      expect(maxConnections).toBeGreaterThan(minConnections);
      expect(maxMemory).toBeLessThan(700 * 2 ** 20);
      await expect.poll(() => readGauge('gateway_connections'), { timeout: 15_000 }).toBeLessThan(10);
    },
    60_000,
  );

  test('cause no error in the logs', () => {
    expect(errorLinesOf(both.gateway)).toEqual([]);
    expect(errorLinesOf(both.petsService)).toEqual([]);
  });
});
