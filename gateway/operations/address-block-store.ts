import { z } from 'zod';
import { formatBlock, parseBlock, type AddressBlock } from '../quota/address-blocks.ts';
import { parseNetwork } from '../quota/network.ts';
import type { RedisClient } from '../redis/redis-client.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { Session } from './session.ts';
import { changeSettings, readSettings } from './settings-hash.ts';

export const blockSchema = z
  .object({
    network: z.string().describe('An address, or a network in CIDR notation'),
    endsAt: z.iso.datetime(),
    reason: z.string(),
  })
  .meta({ id: 'AddressBlock' });

export type BlockView = z.infer<typeof blockSchema>;

export interface AddressBlockStore {
  /**
   * Active blocks, soonest to end first, and what is wrong with others in Redis.
   * @throws InvalidOperation if the Redis key is no hash
   */
  list(): Promise<{ blocks: BlockView[]; issues: string[] }>;
  /**
   * Refuses all requests of an address or network until a time, with or without a key; in force within a second. Replaces
   * another block of the same network.
   * @throws InvalidOperation if the text is no network, or there are too many blocks
   */
  block(network: string, durationMs: number, reason: string): Promise<BlockView>;
  /**
   * Ends a block within a second.
   * @throws InvalidOperation if this address or network is not blocked by itself
   */
  unblock(network: string): Promise<BlockView>;
}

/** Gateways look through all of them for each new address. */
const maxBlocks = 500;

export function createAddressBlockStore(session: Session): AddressBlockStore {
  const { redis, now } = session;
  const key = redisKeys.addressBlocks;
  return {
    async list() {
      const { blocks, issues } = await readAddressBlocks(redis);
      return { blocks: activeBlocks(blocks, now()).map(viewBlock), issues };
    },
    async block(text, durationMs, reason) {
      const network = parseNetwork(text);
      if ('issue' in network) throw new InvalidOperation(`${text} ${network.issue}`);
      const block = { network, endsAtMs: now() + durationMs, reason };
      await changeSettings(session, key, async (fields) => {
        const { blocks } = parseBlocks(fields);
        const ended = blocks.filter(({ endsAtMs }) => endsAtMs <= now());
        const replaced = blocks.find(
          (other) => other.network.name === network.name && !ended.includes(other),
        );
        if (replaced === undefined && Object.keys(fields).length - ended.length >= maxBlocks) {
          throw new InvalidOperation(
            `there are ${maxBlocks} blocks already: end some, or block a larger network`,
          );
        }
        return {
          fields: {
            ...Object.fromEntries(ended.map(({ field }) => [field, ''])),
            ...(replaced === undefined ? {} : { [replaced.field]: '' }),
            [network.name]: formatBlock(block),
          },
          entry: {
            action: 'addresses.block',
            target: network.name,
            before: replaced === undefined ? null : viewBlock(replaced),
            after: viewBlock(block),
          },
        };
      });
      return viewBlock(block);
    },
    async unblock(text) {
      const network = parseNetwork(text);
      const name = 'issue' in network ? text : network.name;
      let before: BlockView | undefined;
      await changeSettings(session, key, async (fields) => {
        const { blocks, invalid } = parseBlocks(fields);
        const active = activeBlocks(blocks, now());
        const block = active.find((other) => other.network.name === name);
        if (block !== undefined) before = viewBlock(block);
        // One that was edited by hand into something invalid can be removed, too.
        else if (invalid.includes(text)) before = { network: text, endsAt: '', reason: fields[text] ?? '' };
        else throw new InvalidOperation(notBlocked(name, active));
        return {
          fields: { [block?.field ?? text]: '' },
          entry: { action: 'addresses.unblock', target: name, before, after: null },
        };
      });
      if (before === undefined) throw new Error(`nothing was decided on the block of ${name}`);
      return before;
    },
  };
}

function notBlocked(name: string, blocks: readonly StoredBlock[]): string {
  const [first = ''] = name.split('/');
  const covering = blocks.find(({ network }) => network.contains(first));
  return covering === undefined
    ? `${name} is not blocked`
    : `${name} is not blocked by itself, but within ${covering.network.name}`;
}

/** A block, and its field in Redis. */
interface StoredBlock extends AddressBlock {
  field: string;
}

/**
 * Reads all blocks, also ended ones.
 * @throws InvalidOperation if the Redis key is no hash
 */
export async function readAddressBlocks(redis: RedisClient) {
  return parseBlocks(await readSettings(redis, redisKeys.addressBlocks));
}

function parseBlocks(fields: Record<string, string>) {
  const blocks: StoredBlock[] = [];
  const invalid: string[] = [];
  const issues: string[] = [];
  for (const [field, text] of Object.entries(fields)) {
    const block = parseBlock(field, text);
    if ('issue' in block) {
      invalid.push(field);
      issues.push(`${field} ${block.issue}: it is ${JSON.stringify(text)}`);
    } else blocks.push({ field, ...block });
  }
  return { blocks, invalid, issues };
}

/** Those that have not ended, soonest to end first. */
export function activeBlocks<T extends AddressBlock>(blocks: readonly T[], nowMs: number): T[] {
  return blocks
    .filter(({ endsAtMs }) => endsAtMs > nowMs)
    .toSorted((one, other) => one.endsAtMs - other.endsAtMs);
}

function viewBlock({ network, endsAtMs, reason }: AddressBlock): BlockView {
  return { network: network.name, endsAt: new Date(endsAtMs).toISOString(), reason };
}
