import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { vi } from 'vitest';
import { together } from '../kits/together.ts';
import { startSlowRelay } from '../upstreams/slow-relay.ts';
import { startRedisProcess, type RedisProcess } from './redis-process.ts';

const masterName = 'animals';
const waiting = { timeout: 20_000, interval: 50 };
/** Time without a reply after which the master is replaced. */
const downAfterMs = 1000;
/** Makes it likely that a new master is announced while a client asks for it. */
const sentinelDelayMs = 200;

/** Starts a master with two replicas, and three Sentinels that watch them. */
export const startRedisSentinels = () =>
  together(async (stack) => {
    const args = '--appendonly yes --appendfsync no --repl-diskless-sync-delay 0 --save'.split(' ');
    const persistence = [...args, ''];
    const first = stack.use(await startRedisProcess(() => persistence));
    const servers = [first];
    for (let index = 0; index < 2; index += 1) {
      const replicaOf = ['--replicaof', `127.0.0.1 ${first.port}`];
      servers.push(stack.use(await startRedisProcess(() => [...persistence, ...replicaOf])));
    }
    const hasReplicas = async () => /^connected_slaves:2/m.test(await first.redis.info('replication'));
    await vi.waitUntil(hasReplicas, waiting);

    const sentinels: RedisProcess[] = [];
    const config = [
      `sentinel monitor ${masterName} 127.0.0.1 ${first.port} 2`,
      `sentinel down-after-milliseconds ${masterName} ${downAfterMs}`,
      `sentinel failover-timeout ${masterName} 5000`,
      '',
    ].join('\n');
    for (let index = 0; index < 3; index += 1) {
      sentinels.push(
        stack.use(
          await startRedisProcess((directory) => {
            // A Sentinel writes its state into its configuration file, so each has its own.
            const file = join(directory, 'sentinel.conf');
            writeFileSync(file, config);
            return [file, '--sentinel'];
          }),
        ),
      );
    }
    const relays = await Promise.all(sentinels.map(({ port }) => startSlowRelay(port)));
    for (const [index, relay] of relays.entries()) {
      stack.use(relay).delayMs = sentinelDelayMs;
      // Clients hear of no other address.
      await sentinels[index]?.redis.call('SENTINEL', 'CONFIG', 'SET', 'announce-ip', '127.0.0.1');
      await sentinels[index]?.redis.call('SENTINEL', 'CONFIG', 'SET', 'announce-port', relay.port);
    }
    const isComplete = async () => {
      const known = await Promise.all(
        sentinels.map(({ redis }) => redis.call('SENTINEL', 'SENTINELS', masterName)),
      );
      const replicas = await Promise.all(
        sentinels.map(({ redis }) => redis.call('SENTINEL', 'REPLICAS', masterName)),
      );
      return [...known, ...replicas].every((list) => Array.isArray(list) && list.length === 2);
    };
    await vi.waitUntil(isComplete, waiting);

    return {
      url: `redis+sentinel://${relays.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${masterName}`,
      servers,
      sentinels,
      /** The current master according to the Sentinels. */
      async master() {
        const address = await sentinels[0]?.redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName);
        const port = Array.isArray(address) ? Number(address[1]) : 0;
        const found = servers.find((server) => server.port === port);
        if (found === undefined) throw new Error('the Sentinels name no master');
        return found;
      },
    };
  });
