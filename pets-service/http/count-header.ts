import type { IncomingMessage } from 'node:http';

/**
 * How often a header was sent, which `headers` does not tell: it joins or drops what came twice.
 * @param name in lower case
 */
export function timesSent(name: string, { rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): number {
  let times = 0;
  // Names and values in turn.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    if (sent?.length === name.length && sent.toLowerCase() === name) times += 1;
  }
  return times;
}
