import { connect, type Socket } from 'node:net';

interface OpenSocket {
  socket: Socket;
  /** What the server has sent, as latin1. */
  received(): string;
  closed(): boolean;
}

/** Opens connections to servers on the loopback interface that tests keep open, until all of them are closed. */
export function createSockets() {
  const sockets: Socket[] = [];
  return {
    open(port: number, bytes = '', localAddress = '127.0.0.1'): OpenSocket {
      const socket = connect({ port, host: '127.0.0.1', localAddress });
      sockets.push(socket);
      let received = '';
      let closed = false;
      socket.on('data', (chunk) => (received += chunk.toString('latin1')));
      socket.on('error', () => {}).on('close', () => (closed = true));
      if (bytes !== '') socket.write(bytes, 'latin1');
      return { socket, received: () => received, closed: () => closed };
    },
    closeAll() {
      for (const socket of sockets.splice(0)) socket.destroy();
    },
  };
}
