import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { expect, test } from 'vitest';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';

test(
  'a rolling restart behind a balancer that polls readiness loses no request',
  { timeout: 120_000 },
  async () => {
    await using kit = await startGatewayKit();
    const { key } = await kit.issue({ plan: 'business', minute: 1_000_000, day: 10_000_000 });
    const env = {
      ...kit.env,
      SHUTDOWN_DELAY_MS: '1000',
      GATEWAY_WORKERS: '2',
    };
    await using stack = new AsyncDisposableStack();
    const gateways = [stack.use(await startGateway(env)), stack.use(await startGateway(env))];
    const ready = new Set(gateways);
    const agent = new Agent({ keepAliveTimeout: 60_000, connections: 4 });
    const stopping = new AbortController();
    const balancer = (async () => {
      while (!stopping.signal.aborted) {
        for (const gateway of gateways) {
          const status = await send(`${gateway.adminUrl}/readyz`).then(
            ({ status }) => status,
            () => 0,
          );
          if (status === 200) ready.add(gateway);
          else ready.delete(gateway);
        }
        await sleep(50);
      }
    })();
    const statuses: unknown[] = [];
    const client = async (offset: number) => {
      for (let index = offset; !stopping.signal.aborted; index += 1) {
        const targets = [...ready];
        const url = `${targets[index % targets.length]?.url}/v1/pets`;
        const headers = { authorization: `Bearer ${key}` };
        statuses.push(
          await request(url, { dispatcher: agent, headers }).then(
            async ({ statusCode, body }) => {
              await body.dump();
              return statusCode;
            },
            (error: unknown) => String(error),
          ),
        );
      }
    };
    const clients = Array.from({ length: 8 }, (_, offset) => client(offset));
    for (const [index, oldGateway] of [...gateways].entries()) {
      await sleep(300);
      expect(await oldGateway.stop()).toBe(0);
      const newGateway = stack.use(await startGateway(env));
      gateways[index] = newGateway;
      await expect.poll(() => ready.has(newGateway)).toBe(true);
    }
    await sleep(300);
    stopping.abort();
    await Promise.all([...clients, balancer]);
    await agent.close();
    expect(statuses.length).toBeGreaterThan(100);
    expect(new Set(statuses)).toEqual(new Set([200]));
  },
);
