import { connect } from 'node:net';
import { Agent, request } from 'undici';
import { recordRefusal } from '../checks/evidence.ts';

export interface ClientResponse {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** Value of a header. Throws if the header is repeated. */
  header(name: string): string | undefined;
  text: string;
  json: unknown;
}

interface SendOptions {
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  body?: string | Buffer | NodeJS.ReadableStream;
}

const agent = new Agent({ keepAliveTimeout: 1000 });

/** Sends a request over HTTP and reads the complete response. */
export async function send(
  url: string,
  { method = 'GET', key, headers = {}, body }: SendOptions = {},
): Promise<ClientResponse> {
  const response = await request(url, {
    dispatcher: agent,
    method,
    headers: { ...(key === undefined ? {} : { authorization: `Bearer ${key}` }), ...headers },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.body.text();
  recordRefusal(response.statusCode, `${JSON.stringify(response.headers)} ${text}`);
  return {
    status: response.statusCode,
    headers: response.headers,
    header(name) {
      const value = response.headers[name.toLowerCase()];
      if (Array.isArray(value)) throw new Error(`${name} is sent ${value.length} times`);
      return value;
    },
    text,
    get json(): unknown {
      return JSON.parse(text);
    },
  };
}

export function postJson(
  url: string,
  key: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<ClientResponse> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const contentType = { 'content-type': 'application/json' };
  return send(url, { method: 'POST', key, headers: { ...contentType, ...headers }, body: text });
}

/** Sends raw bytes and returns everything received until the server closes the connection. */
export function sendRaw(port: number, bytes: string | Buffer, timeoutMs = 10_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`the server did not close the connection; received so far: ${received}`));
    }, timeoutMs);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      recordRefusal(Number(received.split(' ')[1]), received);
      resolve(received);
    });
    socket.write(bytes);
  });
}

/** Parses a raw response. */
export function parseRaw(raw: string): { status: number; headers: string; json: unknown } {
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  return {
    status: Number(head.split(' ')[1]),
    headers: head.slice(head.indexOf('\r\n') + 2),
    json: JSON.parse(body) as unknown,
  };
}
