import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freePort } from '../support/http/free-port.ts';
import { postJson, send } from '../support/http/http.ts';
import { startBothServices } from '../support/kits/both-services.ts';
import { descriptions } from '../support/kits/reload-kit.ts';
import { startGateway, startOrdersService } from '../support/kits/service.ts';
import { shared } from '../support/kits/shared.ts';
import { countOutcomes, startLoad } from '../support/load/steady-load.ts';
import { startUpstream } from '../support/upstreams/upstream.ts';

/** Requests for pets that have to succeed while the orders service fails. */
const requests = 400;

/** A gateway in front of the real pets service, and of an orders service on a port, which the tests start. */
describe('two services', { timeout: 120_000 }, () => {
  let port: number;

  const kit = shared(startBothServices);
  const gateway = shared(async () => {
    port = await freePort();
    const services = {
      'pets-service': { description: descriptions.pets, urls: [kit.petsService.url] },
      orders: { description: descriptions.orders, urls: [`http://127.0.0.1:${port}`], timeoutMs: 1000 },
    };
    const file = join(kit.dataDirectory, 'services.yaml');
    // JSON is YAML, too.
    await writeFile(file, JSON.stringify({ services }));
    return startGateway({ DATA_DIR: kit.dataDirectory, REDIS_URL: kit.redisUrl, SERVICES_FILE: file });
  });

  const get = (path: string) => send(`${gateway.url}/v1${path}`, { key: kit.key });
  const ordersState = async () => {
    const { json } = await send(`${gateway.adminUrl}/readyz`);
    return (json as { services: Record<string, Record<string, string>> }).services['orders'];
  };
  const isOrders = (state: string) => ({ [`http://127.0.0.1:${port}`]: state });

  /** Sends requests to both services until enough for pets are complete. @returns the statuses of both */
  async function loadBoth(): Promise<{ pets: Record<string, number>; orders: Record<string, number> }> {
    await using pets = startLoad(4, async () => (await get('/pets')).status);
    await using orders = startLoad(4, async () => (await get('/orders')).status, 5);
    await expect.poll(() => pets.outcomes.length, { timeout: 60_000 }).toBeGreaterThan(requests);
    const outcomes = { pets: await pets.stop(), orders: await orders.stop() };
    return { pets: countOutcomes(outcomes.pets), orders: countOutcomes(outcomes.orders) };
  }

  const onlyServed = { 200: expect.any(Number) as number };

  test('each has its requests, its responses and its own token', async () => {
    await using _orders = await startOrdersService(port, kit.dataDirectory);
    await expect.poll(ordersState).toEqual(isOrders('ready'));
    expect((await get('/pets')).status).toBe(200);
    const placed = await postJson(`${gateway.url}/v1/orders`, kit.key, { petId: 7 });
    expect(placed).toMatchObject({ status: 201, headers: { location: `${gateway.url}/v1/orders/order:1` } });
    expect((await get('/orders/order:1')).json).toEqual({ id: 'order:1', petId: 7, status: 'placed' });
    expect((await get('/orders')).json).toHaveLength(1);
    expect((await get('/orders/order:2')).json).toMatchObject({ code: 'order_not_found' });
  });

  test('a service that is killed takes nothing of the other with it', async () => {
    const orders = await startOrdersService(port, kit.dataDirectory);
    await expect.poll(ordersState).toEqual(isOrders('ready'));
    orders.signal('SIGKILL');
    await orders.exited;
    const { pets, orders: failed } = await loadBoth();
    expect(pets).toEqual(onlyServed);
    expect(Object.keys(failed)).toEqual(['503']);
  });

  test('a service that is paused delays nothing of the other', async () => {
    await using orders = await startOrdersService(port, kit.dataDirectory);
    await expect.poll(ordersState).toEqual(isOrders('ready'));
    orders.signal('SIGSTOP');
    const { pets, orders: failed } = await loadBoth();
    expect(pets).toEqual(onlyServed);
    expect(Object.keys(failed).filter((status) => !['503', '504'].includes(status))).toEqual([]);
  });

  test('a token that one service was sent is refused by the other', async () => {
    await using orders = await startUpstream(port);
    orders.response = (_req, res) =>
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('[]');
    await expect.poll(ordersState).toEqual(isOrders('ready'));
    expect((await get('/orders')).status).toBe(200);
    const authorization = orders.seen.at(-1)?.headers.authorization ?? '';
    expect(authorization).toMatch(/^Bearer ey/);
    expect((await send(`${kit.petsService.url}/v1/pets`, { headers: { authorization } })).status).toBe(401);
  });
});
