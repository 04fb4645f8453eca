import { z } from 'zod';
import {
  blockAddress,
  blockSchema,
  listAddressBlocks,
  unblockAddress,
} from '../../operations/address-blocks.ts';
import { busyAddressSchema, readBusiestAddresses } from '../../operations/busiest-addresses.ts';
import { blockInput, unblockInput } from '../../operations/key-input.ts';
import { countInput } from './query-input.ts';
import { changed, withWarnings } from './results.ts';
import { route } from './route.ts';

const changedBlock = changed(
  z
    .object({
      ...blockSchema.shape,
      endsAt: z.string().describe('ISO 8601; empty for one that was edited by hand into something invalid'),
    })
    .meta({ id: 'ChangedBlock' }),
);

/** Addresses of clients: the most refused ones, and blocks. */
export const addressesRoutes = [
  route.get('/addresses/busiest', {
    operationId: 'listBusiestAddresses',
    summary: 'Addresses with the most refused requests in the last minute',
    input: z.strictObject({ limit: countInput(500, 50) }),
    responds: 'Busiest first; counts appear within five seconds',
    result: z.object({ items: z.array(busyAddressSchema) }),
    handle: async ({ input: { limit } }, { read }) => ({
      items: await read((session) => readBusiestAddresses(session, limit)),
    }),
  }),
  route.get('/addresses/blocked', {
    operationId: 'listBlockedAddresses',
    summary: 'Active blocks of addresses and networks, soonest to end first',
    responds: 'All of them',
    result: z.object({
      items: z.array(blockSchema),
      issues: z
        .array(z.string())
        .describe('What is wrong with other blocks in Redis; gateways keep the last valid ones'),
    }),
    handle: async (_call, { read }) => {
      const { blocks, issues } = await read(listAddressBlocks);
      return { items: blocks, issues };
    },
  }),
  // The network is in the body: in a path, a proxy may decode its slash.
  route.post('/addresses/block', {
    operationId: 'blockAddress',
    summary: 'Refuse all requests of an address or network within a second, with or without a key',
    input: blockInput,
    example: { network: '203.0.113.0/24', seconds: 3600, reason: 'credential stuffing' },
    responds: 'The block; it replaces another one of the same network',
    result: changedBlock,
    handle: async ({ req, input: { network, seconds, reason } }, { change }) =>
      withWarnings(await change(req, (session) => blockAddress(session, network, seconds * 1000, reason))),
  }),
  route.post('/addresses/unblock', {
    operationId: 'unblockAddress',
    summary: 'End a block within a second',
    input: unblockInput,
    responds: 'The block that has ended',
    result: changedBlock,
    handle: async ({ req, input: { network } }, { change }) =>
      withWarnings(await change(req, (session) => unblockAddress(session, network))),
  }),
];
