import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSlots } from './connection-limits.ts';
import { hasBody } from './request.ts';

/** Whether a request asks for a WebSocket (RFC 6455 section 4.1). */
export function asksForWebSocket(req: IncomingMessage): boolean {
  const { method, headers } = req;
  return (
    method === 'GET' &&
    !hasBody(req) &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    /(?:^|,)[ \t]*upgrade[ \t]*(?:,|$)/i.test(headers.connection ?? '')
  );
}

export type WebSockets<Owner extends Key> = ReturnType<typeof createWebSockets<Owner>>;

const maxOpen = 1000;
/** Of one customer, whatever the number of its keys. */
const maxOpenOfCustomer = 100;
/** Time for one end to close with the other: it may not read, or never end its own side. */
const closeTimeoutMs = 5000;
/** An end that has vanished is noticed by TCP. */
const keepAliveMs = 30_000;

interface Key {
  keyHash: string;
  customerId: string;
}

export function createWebSockets<Owner extends Key>() {
  /** Both ends of each, which are closed together; frames are not read. */
  const open = new Map<Duplex, Owner>();
  const takeSlot = createSlots(maxOpen, maxOpenOfCustomer);
  let isEnding = false;

  return {
    /** Takes the place of one more, until the response of its handshake is closed. @returns false if too many are open */
    takePlace({ customerId }: Owner, res: ServerResponse): boolean {
      const freeSlot = takeSlot(customerId);
      if (freeSlot === undefined) return false;
      // That of a WebSocket closes with its connection.
      res.once('close', freeSlot);
      return true;
    },
    /** Connects both sides, whose handshake is complete. */
    open(client: Duplex, service: Duplex, owner: Owner): void {
      open.set(client, owner);
      // Not pipeline, whose listeners are so many that Node warns of a leak.
      client.pipe(service).pipe(client);
      client.once('close', () => open.delete(client));
      closeWith(client, service);
      closeWith(service, client);
      if (isEnding) client.destroy();
    },
    /** Closes those of whom the function resolves to false. */
    async closeUnless(isServed: (owner: Owner) => Promise<boolean>): Promise<void> {
      const owners = new Map(Array.from(open.values(), (owner) => [owner.keyHash, owner]));
      for (const owner of owners.values()) {
        if (await isServed(owner)) continue;
        for (const [client, { keyHash }] of open) if (keyHash === owner.keyHash) client.destroy();
      }
    },
    /** Closes all, since the process ends. */
    closeAll(): void {
      isEnding = true;
      for (const client of open.keys()) client.destroy();
    },
  };
}

/** Closes one end with the other, once what that has sent is written, or soon after that has ended or closed. */
function closeWith(side: Duplex, other: Duplex): void {
  if (side instanceof Socket) side.setKeepAlive(true, keepAliveMs);
  side.on('error', () => {});
  side.once('close', () => (other instanceof Socket ? other.destroySoon() : other.destroy()));
  for (const event of ['end', 'close'])
    side.once(event, () => void setTimeout(() => other.destroy(), closeTimeoutMs).unref());
}
