import { connect } from 'node:net';
import { parseMessages, type Message } from './strict-http.ts';

export interface RawConnection {
  write(bytes: string): void;
  /** Final responses until the server ended its side. Rejects if it reset the connection, or ended it within a response. */
  responses: Promise<Message[]>;
}

/** Opens a connection for raw requests whose responses and end matter. */
export function openRawConnection(port: number): RawConnection {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  const responses = new Promise<Message[]>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('end', () => {
      socket.end();
      const { messages, rest } = parseMessages(Buffer.concat(chunks).toString('latin1'), 'responses');
      if (rest === '') resolve(messages.filter(({ start }) => !start.startsWith('HTTP/1.1 1')));
      else reject(new Error(`not a complete response: ${rest}`));
    });
  });
  return { write: (bytes) => void socket.write(bytes, 'latin1'), responses };
}

export const statusesOf = (messages: Message[]) => messages.map(({ start }) => Number(start.split(' ')[1]));
