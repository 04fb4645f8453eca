import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from './redis-client.ts';
import type { RedisClock } from './redis-clock.ts';

/**
 * Rejects if Redis can't serve every key. Reads the clock, which takes no further command, and which the scripts need, too:
 * the Redis user may not be allowed to run TIME. Does not queue behind other commands.
 */
export async function pingRedis(redis: RedisClient, clock: Pick<RedisClock, 'sync'>): Promise<void> {
  await Promise.all([clock.sync(), redis instanceof Cluster ? pingCluster(redis) : undefined]);
}

const slotCount = 16_384;

/**
 * A cluster can serve if each slot has a master that is connected and sees the cluster as ok. If one is missing, the map
 * of the slots is fetched again: a replica may have taken over.
 */
async function pingCluster(cluster: Cluster): Promise<void> {
  const masters = new Map(cluster.nodes('master').map((node) => [nameOf(node), node]));
  try {
    await Promise.all(
      Array.from(ownersOf(cluster), async (owner) => {
        const node = masters.get(owner);
        if (node === undefined) throw new Error(`the master ${owner} is not connected`);
        const info = await node.cluster('INFO');
        if (!/^cluster_state:ok/m.test(info)) throw new Error(`the cluster is down as ${owner} sees it`);
      }),
    );
  } catch (error) {
    cluster.refreshSlotsCache();
    throw error;
  }
}

function ownersOf({ slots }: Cluster): Set<string> {
  const owners = new Set<string>();
  for (let slot = 0; slot < slotCount; slot += 1) {
    const owner = slots[slot]?.[0];
    if (owner === undefined) throw new Error(`no master serves the hash slot ${slot}`);
    owners.add(owner);
  }
  return owners;
}

function nameOf({ options }: Redis): string {
  return `${options.host}:${options.port}`;
}
