import type { Socket } from 'node:net';

/** A request, as far as its connection tells where it is from. */
export interface FromPeer {
  socket: Pick<Socket, 'remoteAddress'>;
}

/**
 * Address of the peer that the connection is from, without the zone of a link-local one, which means something on this machine only
 * (RFC 4007 section 11). An IPv4 address that came in over IPv6 is written as IPv4.
 */
export function peerAddress({ socket }: FromPeer): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)|%.*/i, '');
}
