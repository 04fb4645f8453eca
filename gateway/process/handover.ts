import type { Worker } from 'node:cluster';

/**
 * Tracks the connection that node:cluster is handing to a worker, one at a time. node:cluster forgets it if the worker
 * exits before accepting it, and the client would wait forever.
 * @returns a function that closes that connection, to be called after an unexpected exit of the worker
 */
export function watchHandover({ process: child }: Worker): () => void {
  const { send } = child;
  let connection: unknown;
  child.send = (...args: unknown[]) => {
    // Messages of the gateway itself carry no handle.
    connection = args[1] ?? connection;
    return Reflect.apply(send, child, args) === true;
  };
  return function closeHandedOver() {
    // The handle's class is internal to Node. Closing a connection that the worker accepted has no effect.
    if (connection instanceof Object && 'close' in connection && typeof connection.close === 'function') {
      connection.close();
    }
  };
}
