import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { InvalidValues } from '../observability/invalid-values.ts';
import type { HashReader } from '../redis/hash-reader.ts';
import { isWrongType } from '../redis/redis-errors.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { parseNetwork, type Network } from './network.ts';

/** An address or network whose requests are refused until a time, with or without a key. */
export interface AddressBlock {
  network: Network;
  /** Unix milliseconds by Redis' clock. */
  endsAtMs: number;
  reason: string;
}

/** The blocks of operators as this process enforces them. */
export interface AddressBlocks {
  /** Whether there is nothing to look for. */
  isEmpty(): boolean;
  /** @returns milliseconds until the last block of this address ends; undefined if it is not blocked */
  remainingMs(address: string): number | undefined;
  /** Reads the blocks again. Never rejects: what is unreadable or invalid stays as it was. */
  refresh(): Promise<void>;
}

interface AddressBlocksDependencies {
  hashes: HashReader;
  invalidValues: InvalidValues;
  now: () => number;
}

/** The latest addresses: looking through all blocks takes longer than the rest of a refusal. */
const maxAddresses = 10_000;

export function createAddressBlocks(dependencies: AddressBlocksDependencies): AddressBlocks {
  const { hashes, invalidValues, now } = dependencies;
  /** Last valid blocks by their field in Redis. */
  let blocks = new Map<string, AddressBlock>();
  let stored: Record<string, string> = {};
  let issues: string[] = [];
  /** End of the last block of an address, 0 for none. */
  const ends = new LRUCache<string, number>({ max: maxAddresses });

  function report(found: string[]): void {
    const enforced = Object.fromEntries(Array.from(blocks, ([field, block]) => [field, formatBlock(block)]));
    invalidValues.report(redisKeys.addressBlocks, found, { enforced, source: 'last_valid' });
  }

  /** A block that is invalid stays as it was. */
  function use(fields: Record<string, string>): void {
    const inForce = new Map<string, AddressBlock>();
    issues = [];
    for (const [field, text] of Object.entries(fields)) {
      const parsed = parseBlock(field, text);
      const block = 'issue' in parsed ? blocks.get(field) : parsed;
      if (block !== undefined) inForce.set(field, block);
      if ('issue' in parsed) issues.push(`${field} ${parsed.issue}`);
    }
    blocks = inForce;
    stored = fields;
    ends.clear();
  }

  function findEnd(address: string): number {
    const covering = [...blocks.values()].filter(({ network }) => network.contains(address));
    return Math.max(0, ...covering.map(({ endsAtMs }) => endsAtMs));
  }

  return {
    isEmpty: () => blocks.size === 0,
    remainingMs(address) {
      let endsAtMs = ends.get(address);
      if (endsAtMs === undefined) {
        endsAtMs = findEnd(address);
        ends.set(address, endsAtMs);
      }
      const leftMs = endsAtMs - now();
      return leftMs > 0 ? leftMs : undefined;
    },
    async refresh() {
      let fields: Record<string, string>;
      try {
        fields = await hashes.read(redisKeys.addressBlocks);
      } catch (error) {
        if (isWrongType(error)) report(['is not a hash']);
        return;
      }
      if (!isDeepStrictEqual(fields, stored)) use(fields);
      report(issues);
    },
  };
}

const isoTime = z.iso.datetime({ offset: true });

/** Parses a field of the hash: the network, and the end and the reason of its block. */
export function parseBlock(field: string, text: string): AddressBlock | { issue: string } {
  const network = parseNetwork(field);
  if ('issue' in network) return network;
  const [, end = '', reason = ''] = /^(\S+) (.+)$/s.exec(text) ?? [];
  if (!isoTime.safeParse(end).success || reason.trim() === '') {
    return {
      issue: 'needs an end in ISO 8601 and a reason, such as "2027-01-31T12:00:00Z credential stuffing"',
    };
  }
  return { network, endsAtMs: Date.parse(end), reason };
}

export function formatBlock({ endsAtMs, reason }: Pick<AddressBlock, 'endsAtMs' | 'reason'>): string {
  return `${new Date(endsAtMs).toISOString()} ${reason}`;
}
