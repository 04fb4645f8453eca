import { expect, test } from 'vitest';
import { redisKeys } from '../../gateway/platform/redis/redis-keys.ts';
import { recordedCounts } from '../support/checks/traffic-record.ts';
import { send } from '../support/http/http.ts';
import { startGatewayKit } from '../support/kits/gateway-kit.ts';
import { startGateway } from '../support/kits/service.ts';
import { countOutcomes } from '../support/load/steady-load.ts';

test(
  'the record of traffic is complete when a gateway has shut down',
  { tags: ['redis-server'] },
  async () => {
    await using kit = await startGatewayKit();
    await kit.redis.hset(redisKeys.plan('restarted'), { minute: 1000, day: 100_000 });
    const { key } = await kit.issue({ plan: 'restarted' });
    for (const round of [1, 2]) {
      await using gateway = await startGateway({ ...kit.env, GATEWAY_WORKERS: '2' });
      // Each on a connection of its own, which goes to the next worker.
      const request = () => send(`${gateway.url}/v1/pets`, { key, headers: { connection: 'close' } });
      const responses = await Promise.all(Array.from({ length: 40 }, request));
      expect(countOutcomes(responses.map(({ status }) => status))).toEqual({ 200: 40 });
      expect(await gateway.stop()).toBe(0);
      expect((await recordedCounts(kit.redis))['status:2xx']).toBe(round * 40);
    }
  },
);
