import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { vi } from 'vitest';
import { freePort } from '../http/free-port.ts';
import { together } from '../kits/together.ts';
import { startRedisProcess, type RedisProcess } from './redis-process.ts';

export type RedisClusterServers = Awaited<ReturnType<typeof startRedisCluster>>;

const run = promisify(execFile);
const masters = 3;
/** Time without a reply after which a node is replaced. */
const nodeTimeoutMs = 1000;

/** Starts three masters with one replica each. */
export const startRedisCluster = () =>
  together(async (stack) => {
    const nodes: RedisProcess[] = [];
    for (let index = 0; index < 2 * masters; index += 1) {
      const cluster = `--cluster-port ${await freePort()} --cluster-node-timeout ${nodeTimeoutMs} --cluster-enabled yes`;
      const persistence = '--appendonly yes --appendfsync no --repl-diskless-sync-delay 0';
      const args = `${cluster} --cluster-config-file nodes.conf ${persistence} --save`.split(' ');
      nodes.push(stack.use(await startRedisProcess(() => [...args, ''])));
    }
    const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
    await run('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-replicas', '1', '--cluster-yes']);
    await vi.waitUntil(() => isComplete(nodes), { timeout: 20_000, interval: 50 });

    async function liveMasters(): Promise<RedisProcess[]> {
      const masters = await Promise.all(nodes.map((node) => isMaster(node).catch(() => false)));
      return nodes.filter((_node, index) => masters[index]);
    }

    return {
      // The client discovers the other nodes.
      url: `redis+cluster://${addresses.slice(0, 2).join(',')}`,
      nodes,
      /** The master that currently serves a Redis key. */
      async masterOf(key: string) {
        const [first] = nodes;
        const slot = await first?.redis.cluster('KEYSLOT', key);
        for (const node of await liveMasters()) if (await servesSlot(node, slot ?? -1)) return node;
        throw new Error(`no master serves the slot of ${key}`);
      },
      otherMasters: async (one: RedisProcess) => (await liveMasters()).filter((node) => node !== one),
    };
  });

async function isMaster({ redis }: RedisProcess): Promise<boolean> {
  return /^role:master/m.test(await redis.info('replication'));
}

async function servesSlot({ redis }: RedisProcess, slot: number): Promise<boolean> {
  const ownLine = String(await redis.call('CLUSTER', 'NODES'))
    .split('\n')
    .find((line) => line.includes('myself'));
  return (ownLine ?? '')
    .split(' ')
    .slice(8)
    .some((range) => {
      const [from = Number.NaN, to = from] = range.split('-').map(Number);
      return from <= slot && slot <= to;
    });
}

/** Whether every node knows all slots and every master has its replica. */
async function isComplete(nodes: readonly RedisProcess[]): Promise<boolean> {
  const complete = await Promise.all(
    nodes.map(async ({ redis }) => {
      const info = await redis.cluster('INFO');
      const replication = await redis.info('replication');
      const linked = /^role:master/m.test(replication)
        ? /^slave0:.*state=online/m.test(replication)
        : /^master_link_status:up/m.test(replication);
      return linked && /^cluster_state:ok/m.test(info) && /^cluster_known_nodes:6/m.test(info);
    }),
  );
  return complete.every(Boolean);
}
