import type { EventEmitter } from 'node:events';

/** ioredis' message for a connection that is ended, which is no failure. */
export const connectionClosed = 'Connection is closed.';
/** Begins ioredis' message at the end of its list of Sentinels. */
const endOfList = 'All sentinels are unreachable.';

/**
 * Calls back with the cause of each failed connection.
 *
 * ioredis asks one Sentinel after the other, and goes on where it stopped if the master that one has named cannot be
 * reached. At the end of the list it says that all Sentinels are unreachable, although nothing is wrong with those that it
 * asked. Only if it gets through the whole list from its beginning, no Sentinel has named a master.
 */
export function onConnectionFailure(client: EventEmitter, callback: (cause: string) => void): void {
  let wholeList = false;
  /** Also names the Sentinel. */
  let sentinelError = '';
  client.on('connecting', () => {
    wholeList = false;
  });
  client.on('sentinelError', ({ message }: Error) => {
    sentinelError = message;
  });
  const onError = ({ message }: Error) => {
    if (message === connectionClosed) return;
    if (!message.startsWith(endOfList)) return callback(message);
    if (wholeList) callback(`no Sentinel names the master: ${sentinelError}`);
    wholeList = true;
  };
  client.on('error', onError);
  client.on('node error', onError);
}
