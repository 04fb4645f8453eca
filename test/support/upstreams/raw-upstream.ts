import { createServer, type Socket } from 'node:net';
import { recordSecrets } from '../checks/evidence.ts';
import { close, listen } from '../http/listening.ts';
import { parseMessages } from '../http/strict-http.ts';

export interface RawUpstream extends AsyncDisposable {
  url: string;
  /** Bytes received on each connection, as latin1. */
  received: string[];
}

/** A stand-in for the pets service that records every byte, and responds with the target of the request. */
export async function startRawUpstream(): Promise<RawUpstream> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const index = received.push('') - 1;
    let responded = 0;
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (chunk) => {
      received[index] += chunk.toString('latin1');
      recordSecrets(chunk.toString('latin1'));
      const { messages, broken } = parseMessages(received[index] ?? '', 'requests');
      for (const { start } of messages.slice(responded)) {
        const body = JSON.stringify({ target: start.split(' ')[1] });
        const length = `Content-Length: ${Buffer.byteLength(body)}`;
        const isHead = start.startsWith('HEAD ');
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${length}\r\n\r\n${isHead ? '' : body}`,
        );
      }
      responded = messages.length;
      if (broken !== undefined) socket.destroy();
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await close(server);
    },
  };
}
