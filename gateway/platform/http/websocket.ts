import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform, type Duplex, type TransformCallback } from 'node:stream';
import { createSlots } from './connection-limits.ts';
import { hasBody } from './request.ts';

/*
 * Frames are not read, but for where one ends, so that the gateway can end a connection between two of them.
 */

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

/** Status codes of Close frames (RFC 6455 section 7.4.1). */
const closeCodes = { goingAway: 1001, policyViolation: 1008 };

/** Passes frames on until it is closed, and ends with a Close frame then. */
export class Frames extends Transform {
  /** Bytes of a header of which more follow. */
  #header: number[] = [];
  /** Bytes that the payload of the current frame still has. */
  #left = 0;
  #closeFrame: Buffer | undefined;

  /** Whether it is to be closed, and the last frame has passed. */
  get #isClosed(): boolean {
    return this.#closeFrame !== undefined && this.#header.length === 0 && this.#left === 0;
  }

  /** Ends after the frame that is being passed on, with a Close frame of this code. */
  close(code: number): void {
    // The service may have ended what the client does not read.
    if (this.#closeFrame !== undefined || this.writableEnded || this.destroyed) return;
    this.#closeFrame = Buffer.from([0x88, 2, code >> 8, code & 0xff]);
    if (this.#isClosed) this.push(this.#closeFrame);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    if (!this.#isClosed) {
      const length = this.#advance(chunk);
      this.push(length === chunk.length ? chunk : chunk.subarray(0, length));
      if (this.#isClosed) this.push(this.#closeFrame);
    }
    callback();
  }

  /** @returns how much of the chunk passes: all of it, or what is left of the last frame */
  #advance(chunk: Buffer): number {
    let index = 0;
    while (index < chunk.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, chunk.length - index);
        this.#left -= taken;
        index += taken;
      } else {
        this.#header.push(chunk[index] ?? 0);
        index += 1;
        const length = payloadLength(this.#header);
        if (length !== undefined) [this.#left, this.#header] = [length, []];
      }
      if (this.#isClosed) return index;
    }
    return index;
  }
}

/** @returns undefined if the header is not complete (RFC 6455 section 5.2) */
function payloadLength(header: readonly number[]): number | undefined {
  const [, second] = header;
  if (second === undefined) return undefined;
  const short = second & 0x7f;
  const extended = short === 127 ? 8 : short === 126 ? 2 : 0;
  const complete = 2 + extended + (second & 0x80 ? 4 : 0);
  if (header.length < complete) return undefined;
  return extended === 0 ? short : header.slice(2, 2 + extended).reduce((sum, byte) => sum * 256 + byte, 0);
}

export type WebSockets<Owner extends Key> = ReturnType<typeof createWebSockets<Owner>>;

const maxOpen = 1000;
/** Of one customer, whatever the number of its keys. */
const maxOpenOfCustomer = 100;
/** Time to answer a Close frame, or to end the other direction once one has ended. */
const closeTimeoutMs = 5000;
/** An end that has vanished is noticed by TCP. */
const keepAliveMs = 30_000;

interface Key {
  keyHash: string;
  customerId: string;
}

export function createWebSockets<Owner extends Key>() {
  const close = new Map<(code: number) => void, Owner>();
  const takeSlot = createSlots(maxOpen, maxOpenOfCustomer);
  let isEnding = false;

  return {
    /** Takes the place of one more, until the response of its handshake is closed. @returns the limit that it exceeds */
    takePlace({ customerId }: Owner, res: ServerResponse): 'total' | 'owner' | undefined {
      const freeSlot = takeSlot(customerId);
      if (typeof freeSlot === 'string') return freeSlot;
      // That of a WebSocket closes with its connection.
      res.once('close', freeSlot);
      return undefined;
    },
    /** Connects both sides, whose handshake is complete. */
    open(client: Duplex, service: Duplex, owner: Owner): void {
      const frames = new Frames();
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        timer ??= setTimeout(() => [client, service].forEach((side) => side.destroy()), closeTimeoutMs);
      };
      const closeThis = (code: number): void => {
        frames.close(code);
        end();
      };
      close.set(closeThis, owner);
      for (const [side, other] of [
        [client, service],
        [service, client],
      ] as const) {
        if ('setKeepAlive' in side && typeof side.setKeepAlive === 'function')
          side.setKeepAlive(true, keepAliveMs);
        side.on('error', () => {});
        side.on('end', end);
        side.on('close', () => {
          close.delete(closeThis);
          clearTimeout(timer);
          other.destroy();
        });
      }
      client.pipe(service);
      service.pipe(frames).pipe(client);
      if (isEnding) closeThis(closeCodes.goingAway);
    },
    /** Closes those of whom the function resolves to false. */
    async closeUnless(isServed: (owner: Owner) => Promise<boolean>): Promise<void> {
      const owners = new Map(Array.from(close.values(), (owner) => [owner.keyHash, owner]));
      for (const owner of owners.values()) {
        if (await isServed(owner)) continue;
        for (const [closeThis, { keyHash }] of close)
          if (keyHash === owner.keyHash) closeThis(closeCodes.policyViolation);
      }
    },
    /** Closes all, since the process ends. */
    closeAll(): void {
      isEnding = true;
      for (const closeThis of close.keys()) closeThis(closeCodes.goingAway);
    },
  };
}
