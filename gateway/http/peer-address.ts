import type { IncomingMessage } from 'node:http';

/** Address of the peer that the connection is from. An IPv4 address that came in over IPv6 is written as IPv4. */
export function peerAddress({ socket }: Pick<IncomingMessage, 'socket'>): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:(?=\d+\.)/i, '');
}
