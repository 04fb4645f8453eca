import { setTimeout as sleep } from 'node:timers/promises';
import { postJson, send, type ClientResponse } from '../support/http/http.ts';
import type { IssuedKey } from '../support/kits/keys.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { isServed, notConnected, type RecordedRequest } from './history.ts';
import type { PlannedClient } from './schedule.ts';
import { ownerOf } from './stored-quota.ts';

interface ClientOptions {
  urls: readonly string[];
  /** The present key of a name. */
  keyOf: (name: string) => IssuedKey;
  seed: number;
  signal: AbortSignal;
  record: (request: RecordedRequest) => void;
}

const headerNames = (
  'x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset x-ratelimit-window ' +
  'x-ratelimit-ban-after ratelimit-policy ratelimit retry-after'
).split(' ');
/** Pause of a client whose key has ended. */
const endedMs = 400;
/** Pause after a request without a response. */
const lostMs = 200;
const burst = { least: 3, more: 9 };
const creates = 0.2;

/** Sends the requests of a client until it is aborted. */
export async function runClient(client: PlannedClient, options: ClientOptions): Promise<void> {
  const { urls, keyOf, signal, record } = options;
  const random = seededRandom(options.seed);
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  let held = keyOf(client.key);
  let sent = 0;

  async function request(): Promise<RecordedRequest> {
    if (client.isPrompt) held = keyOf(client.key);
    const { key, id } = held;
    const turn = (sent += 1);
    const gateway = client.gateways[turn % client.gateways.length] ?? 0;
    const url = `${urls[gateway]}/v1/pets`;
    const method = random() < creates ? 'POST' : 'GET';
    const requestId = `${client.name}-${turn}`;
    const headers = { 'x-request-id': requestId };
    const startMs = Date.now();
    const response = await (
      method === 'GET'
        ? send(url, { key, headers })
        : postJson(url, key, { name: 'Rex', categoryId: 1 }, headers)
    ).catch((error: unknown) => error as Error);
    // Date.now() rounds down.
    const endMs = Date.now() + 1;
    const owner = ownerOf(held);
    const sentBy = { id: requestId, client: client.name, owner, key: id, gateway, method } as const;
    const recorded: RecordedRequest = { ...sentBy, startMs, endMs, ...contentOf(response) };
    record(recorded);
    return recorded;
  }

  await pause(client.fromMs);
  while (!signal.aborted) {
    const count = client.manner === 'burst' ? burst.least + Math.floor(random() * burst.more) : 1;
    const [first] = await Promise.all(Array.from({ length: count }, request));
    const seconds = Number(first?.headers['retry-after']);
    if (first?.status === 401) {
      held = keyOf(client.key);
      await pause(endedMs);
    } else if (first?.status === 0) await pause(lostMs);
    else if (first?.status === 429 && client.manner === 'obedient') await pause(seconds * 1000);
    else await pause(client.manner === 'burst' ? client.everyMs * 5 : client.everyMs);
  }
}

function contentOf(
  response: ClientResponse | Error,
): Pick<RecordedRequest, 'status' | 'headers' | 'code' | 'message'> {
  if (response instanceof Error) {
    const isRefused = 'code' in response && response.code === 'ECONNREFUSED';
    return { status: 0, headers: {}, code: isRefused ? notConnected : undefined };
  }
  const { status, headers } = response;
  const shown = headerNames.flatMap((name): [string, string][] => {
    const value = headers[name];
    return value === undefined ? [] : [[name, String(value)]];
  });
  const request = { status, headers: Object.fromEntries(shown) };
  if (isServed({ ...request } as RecordedRequest)) return request;
  try {
    const { code, message } = response.json as { code: string; message: string };
    return { ...request, code, message };
  } catch {
    return request;
  }
}
