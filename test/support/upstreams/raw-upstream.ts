import { recordSecrets } from '../checks/evidence.ts';
import { parseMessages } from '../http/strict-http.ts';
import { serveConnections } from './relay.ts';

/** A stand-in for the pets service that records every byte, and responds with the target of the request. */
export async function startRawUpstream() {
  /** Bytes received on each connection, as latin1. */
  const received: string[] = [];
  const server = await serveConnections((socket) => {
    const index = received.push('') - 1;
    let responded = 0;
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
  return { ...server, url: `http://127.0.0.1:${server.port}`, received };
}
