import { get, type IncomingMessage } from 'node:http';

/** A stream of server-sent events that is being read. */
export interface EventStream extends AsyncDisposable {
  status: number;
  /** Content of all events with this name so far, oldest first. */
  events<T>(name: string): T[];
  /** Content of the newest event with this name; undefined if there was none. */
  last(name: string): unknown;
  /** Everything that was received. */
  text(): string;
  /** Stops reading, as a console that hangs. */
  pause(): void;
  resume(): void;
  /** Resolves when the server or the client has ended the stream. */
  ended: Promise<void>;
}

/** Opens a stream, as EventSource does. */
export async function openEventStream(url: string, cookie: string): Promise<EventStream> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers: { Cookie: cookie, Accept: 'text/event-stream' }, agent: false }, resolve).on(
      'error',
      reject,
    );
  });
  let text = '';
  response.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const ended = new Promise<void>((resolve) => {
    response.on('close', resolve).on('error', () => resolve());
  });
  const events = <T>(name: string) =>
    text
      .split('\n\n')
      // The last part may not be complete.
      .slice(0, -1)
      .filter((event) => event.startsWith(`event: ${name}\n`))
      .map((event) => JSON.parse(event.slice(event.indexOf('data: ') + 6)) as T);
  return {
    status: response.statusCode ?? 0,
    events,
    last: (name) => events<unknown>(name).at(-1),
    text: () => text,
    pause: () => response.pause(),
    resume: () => response.resume(),
    ended,
    async [Symbol.asyncDispose]() {
      response.destroy();
      await ended;
    },
  };
}
