import { z } from 'zod';
import { formatBlock, parseBlock, type AddressBlock } from '../quota/address-blocks.ts';
import { parseNetwork } from '../quota/network.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { InvalidOperation } from './invalid-operation.ts';
import type { ReadingSession, Session } from './session.ts';
import { changeSettings, readSettings } from './settings-hash.ts';

export const blockSchema = z
  .object({
    network: z.string().describe('An address, or a network in CIDR notation'),
    endsAt: z.iso.datetime(),
    reason: z.string(),
  })
  .meta({ id: 'AddressBlock' });

export type BlockView = z.infer<typeof blockSchema>;

/** Gateways look through all of them for each new address. */
const maxBlocks = 500;
const key = redisKeys.addressBlocks;

/**
 * Active blocks, soonest to end first, and what is wrong with others in Redis.
 * @throws InvalidOperation if the Redis key is no hash
 */
export async function listAddressBlocks({ redis, now }: ReadingSession) {
  const { blocks, issues } = parseBlocks(await readSettings(redis, key));
  return { blocks: activeBlocks(blocks, now()).map(viewBlock), issues };
}

/**
 * Refuses all requests of an address or network until a time, with or without a key; in force within a second. Replaces
 * another block of the same network.
 * @throws InvalidOperation if the text is no network, or there are too many blocks
 */
export async function blockAddress(
  session: Session,
  text: string,
  durationMs: number,
  reason: string,
): Promise<BlockView> {
  const { now } = session;
  const network = parseNetwork(text);
  if ('issue' in network) throw new InvalidOperation(`${text} ${network.issue}`);
  const block = { network, endsAtMs: now() + durationMs, reason };
  await changeSettings(session, key, async (fields) => {
    const { blocks } = parseBlocks(fields);
    const ended = blocks.filter(({ endsAtMs }) => endsAtMs <= now());
    const replaced = named(activeBlocks(blocks, now()), network.name);
    if (replaced.length === 0 && Object.keys(fields).length - ended.length >= maxBlocks) {
      throw new InvalidOperation(
        `there are ${maxBlocks} blocks already: end some, or block a larger network`,
      );
    }
    return {
      fields: {
        ...Object.fromEntries([...ended, ...replaced].map(({ field }) => [field, ''])),
        [network.name]: formatBlock(block),
      },
      entry: {
        action: 'addresses.block',
        target: network.name,
        before: replaced.map(viewBlock).at(-1) ?? null,
        after: viewBlock(block),
      },
    };
  });
  return viewBlock(block);
}

/**
 * Ends a block within a second.
 * @throws InvalidOperation if this address or network is not blocked by itself
 */
export async function unblockAddress(session: Session, text: string): Promise<BlockView> {
  const network = parseNetwork(text);
  const name = 'issue' in network ? text : network.name;
  const { before } = await changeSettings(session, key, async (fields) => {
    const { blocks, invalid } = parseBlocks(fields);
    const active = activeBlocks(blocks, session.now());
    const ended = named(active, name);
    // One that was edited by hand into something invalid can be removed, too.
    if (ended.length === 0 && !invalid.includes(text)) throw new InvalidOperation(notBlocked(name, active));
    const before = ended.map(viewBlock).at(-1) ?? { network: text, endsAt: '', reason: fields[text] ?? '' };
    return {
      before,
      fields: Object.fromEntries([{ field: text }, ...ended].map(({ field }) => [field, ''])),
      entry: { action: 'addresses.unblock', target: name, before, after: null },
    };
  });
  return before;
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

/** Blocks of one network, in the order of `blocks`: one that was added by hand may spell it in another way. */
const named = (blocks: readonly StoredBlock[], name: string) =>
  blocks.filter(({ network }) => network.name === name);

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
function activeBlocks<T extends AddressBlock>(blocks: readonly T[], nowMs: number): T[] {
  return blocks
    .filter(({ endsAtMs }) => endsAtMs > nowMs)
    .toSorted((one, other) => one.endsAtMs - other.endsAtMs);
}

/**
 * Active blocks as gateways find addresses in them, soonest to end first.
 * @throws InvalidOperation if the Redis key is no hash
 */
export async function readActiveBlocks({ redis, now }: ReadingSession) {
  return activeBlocks(parseBlocks(await readSettings(redis, key)).blocks, now());
}

function viewBlock({ network, endsAtMs, reason }: AddressBlock): BlockView {
  return { network: network.name, endsAt: new Date(endsAtMs).toISOString(), reason };
}
