import type { IncomingMessage } from 'node:http';

/**
 * Counts how often a header was sent. Node's `headers` joins or drops repeated ones.
 * @param name in lower case
 */
export function countHeader(name: string, { rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const sent = rawHeaders[index];
    if (sent?.length === name.length && sent.toLowerCase() === name) count += 1;
  }
  return count;
}
