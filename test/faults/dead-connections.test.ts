import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postJson, send } from '../support/http/http.ts';
import { startGatewayKit, type GatewayKit } from '../support/kits/gateway-kit.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { startFreezingRelay, type FreezingRelay } from '../support/upstreams/freezing-relay.ts';
import { upstreamLogMessages, upstreamStates } from '../support/upstreams/upstream-state.ts';
import { respondWithPets } from '../support/upstreams/upstream.ts';

const connections = 30;

describe('connections to the upstream whose other end has vanished', () => {
  let relay: FreezingRelay;
  let kit: GatewayKit;
  let key: string;
  let pets: string;
  let outputBefore: number;

  beforeAll(async () => {
    relay = await startFreezingRelay();
    kit = await startGatewayKit({ PETS_SERVICE_URL: relay.url, UPSTREAM_TIMEOUT_MS: '4000' });
    relay.targetPort = Number(new URL(kit.upstream.url).port);
    ({ key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 }));
    pets = `${kit.gateway.url}/v1/pets`;
  });

  afterAll(async () => {
    await kit[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    await expect.poll(() => upstreamStates(kit.gateway)).toEqual({ [relay.url]: 'ready' });
    await openConnections();
    kit.upstream.seen.length = 0;
    outputBefore = kit.gateway.output().length;
  });

  afterEach(() => {
    // The connections failed, not the upstream.
    expect(upstreamLogMessages(kit.gateway.output().slice(outputBefore))).toEqual([]);
  });

  /** Leaves that many idle connections behind: none of their requests gets a response before all have arrived. */
  async function openConnections(): Promise<void> {
    const respond: (() => void)[] = [];
    kit.upstream.response = (req, res) => {
      respond.push(() => respondWithPets(req, res));
      if (respond.length === connections) for (const one of respond) one();
    };
    expect(await get(connections)).toEqual({ 200: connections });
    kit.upstream.response = respondWithPets;
  }

  const repeat = async (count: number, request: () => Promise<{ status: number }>) =>
    countOutcomes(await Promise.all(Array.from({ length: count }, async () => (await request()).status)));
  const get = (count: number) => repeat(count, () => send(pets, { key }));
  const post = (count: number) => repeat(count, () => postJson(pets, key, { name: 'Rex' }));

  test('cost no GET: it is sent again on a new connection, and the others are closed', async () => {
    relay.freeze();
    expect(await get(10)).toEqual({ 200: 10 });
    expect(await post(connections)).toEqual({ 200: connections });
    expect(kit.upstream.seen).toHaveLength(10 + connections);
  });

  test('cost each POST that was already sent on one, and none that comes later', async () => {
    relay.freeze();
    const sent = post(8);
    // Idle ones are closed, except for those of the probes.
    await expect.poll(() => relay.open()).toBeLessThan(8 + 3);
    expect(await post(connections)).toEqual({ 200: connections });
    expect(await get(connections)).toEqual({ 200: connections });
    // None was sent again: the upstream might have executed it.
    expect(await sent).toEqual({ 504: 8 });
    expect(kit.upstream.seen).toHaveLength(2 * connections);
  });

  test('differ from slow responses, which arrive on their own connection, while others respond', async () => {
    kit.upstream.response = (req, res) => {
      if (req.url?.includes('slow')) setTimeout(() => respondWithPets(req, res), 2000);
      else respondWithPets(req, res);
    };
    await using load = startLoad(1, async () => (await send(pets, { key })).status, 5);
    expect(await repeat(5, () => send(`${pets}?slow`, { key }))).toEqual({ 200: 5 });
    const others = await load.stop();
    expect(countOutcomes(others)).toEqual({ 200: others.length });
    expect(kit.upstream.seen.filter(({ url }) => url.includes('slow'))).toHaveLength(5);
  });
});
