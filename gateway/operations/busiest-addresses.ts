import { z } from 'zod';
import { addressRefusals } from '../quota/busy-addresses.ts';
import { redisKeys } from '../redis/redis-keys.ts';
import { scoredMembers } from '../redis/scored-members.ts';
import { readActiveBlocks } from './address-blocks.ts';
import { newestSlots } from './busiest-keys.ts';
import { ignoreInvalid } from './invalid-operation.ts';
import type { ReadingSession } from './session.ts';

/** Refused requests of an address within the last minute. */
export const busyAddressSchema = z
  .object({
    address: z.string().describe('An IPv4 address or an IPv6 network of 56 bits, which shares a limit'),
    refused: z.int(),
    unauthenticated: z.int().describe('Without a valid key'),
    limited: z.int().describe('Over the limit of an address'),
    blocked: z.int().describe('During a block'),
    blockedUntil: z.iso.datetime().nullable().describe('End of the block of it, or of its first address'),
  })
  .meta({ id: 'BusyAddress' });

export type BusyAddress = z.infer<typeof busyAddressSchema>;

/** Slots that tell who sends now: the one that is being filled, which may be empty yet, and the one before. */
export const presentSlots = 2;

/**
 * Addresses with the most refused requests in the last minute on all instances, busiest first. Counts appear within 5 s.
 * @param slotCount presentSlots for those of the last 10 to 20 seconds
 */
export async function readBusiestAddresses(
  session: ReadingSession,
  count: number,
  slotCount?: number,
): Promise<BusyAddress[]> {
  const slots = newestSlots(session.now(), slotCount);
  const [members, blocks = []] = await Promise.all([
    session.redis.zunion(slots.length, slots.map(redisKeys.busyAddresses), 'WITHSCORES'),
    ignoreInvalid(readActiveBlocks(session)),
  ]);
  const byAddress = new Map<string, BusyAddress>();
  for (const [member, refused] of scoredMembers(members)) {
    const [kind, address = ''] = member.split(' ');
    const refusal = addressRefusals.find((known) => known === kind);
    if (refusal === undefined) continue;
    const entry = byAddress.get(address) ?? nothingOf(address);
    entry.refused += refused;
    entry[refusal] += refused;
    byAddress.set(address, entry);
  }
  return [...byAddress.values()]
    .toSorted((one, other) => other.refused - one.refused)
    .slice(0, count)
    .map((entry) => Object.assign(entry, { blockedUntil: blockedUntil(entry) }));

  function blockedUntil({ address }: BusyAddress): string | null {
    const [first = ''] = address.split('/');
    const last = blocks.findLast(({ network }) => network.contains(first));
    return last === undefined ? null : new Date(last.endsAtMs).toISOString();
  }
}

const nothingOf = (address: string): BusyAddress => ({
  address,
  refused: 0,
  unauthenticated: 0,
  limited: 0,
  blocked: 0,
  blockedUntil: null,
});
