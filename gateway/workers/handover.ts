import type { Worker } from 'node:cluster';

/**
 * Watches which connection node:cluster is handing to a worker, one at a time. It forgets that one where the worker ends
 * before it answers, and a client would wait for ever.
 * @returns what closes that connection; for a worker that has ended and had not begun to close
 */
export function watchHandover({ process: child }: Worker): () => void {
  const { send } = child;
  let connection: unknown;
  child.send = (...args: unknown[]) => {
    // No message of ours comes with one.
    connection = args[1] ?? connection;
    return Reflect.apply(send, child, args) === true;
  };
  return function closeHandedOver() {
    // Its class is internal to Node. One that the worker has accepted is closed here already, and stays so.
    if (connection instanceof Object && 'close' in connection && typeof connection.close === 'function')
      connection.close();
  };
}
