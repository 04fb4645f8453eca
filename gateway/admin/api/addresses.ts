import { Router } from 'express';
import { z } from 'zod';
import { createAddressBlockStore } from '../../operations/address-block-store.ts';
import { readBusiestAddresses } from '../../operations/busiest-addresses.ts';
import { blockInput, unblockInput } from '../../operations/key-input.ts';
import type { ApiDependencies } from './api-dependencies.ts';

const busiest = z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) });

/** Addresses of clients: the most refused ones, and blocks. */
export function addressesApi({ read, change }: Omit<ApiDependencies, 'search'>): Router {
  const router = Router();

  router.get('/addresses/busiest', async (req, res) => {
    const { limit } = busiest.parse(req.query);
    res.json({ items: await read((session) => readBusiestAddresses(session, limit)) });
  });

  router.get('/addresses/blocked', async (_req, res) => {
    const { blocks, issues } = await read((session) => createAddressBlockStore(session).list());
    res.json({ items: blocks, issues });
  });

  // The network is in the body: in a path, a proxy may decode its slash.
  router.post('/addresses/block', async (req, res) => {
    const { network, seconds, reason } = blockInput.parse(req.body);
    const { result, warnings } = await change(req, (session) =>
      createAddressBlockStore(session).block(network, seconds * 1000, reason),
    );
    res.json({ ...result, warnings });
  });

  router.post('/addresses/unblock', async (req, res) => {
    const { network } = unblockInput.parse(req.body);
    const { result, warnings } = await change(req, (session) =>
      createAddressBlockStore(session).unblock(network),
    );
    res.json({ ...result, warnings });
  });

  return router;
}
