import dataHandler, { type DataHandledable } from 'ioredis/built/DataHandler.js';

/** What comes from Redis is no reply, or nobody has asked for it. The connection is given up. */
export class MalformedReply extends Error {
  override name = 'MalformedReply';
}

interface DataHandler {
  redis: DataHandledable;
  returnFatalError(error: Error): void;
}

/**
 * Makes a malformed reply end its connection, for all clients of this process, also those that ioredis makes for Sentinels
 * and nodes of a cluster. ioredis goes on reading a connection that it has given up, and throws its errors about a reply
 * outside of any call, which would end the process. It has no setting for that.
 */
export function endConnectionsOnMalformedReplies(): void {
  Object.assign(dataHandler.default.prototype, {
    returnFatalError(this: DataHandler, cause: Error) {
      const { redis } = this;
      // What follows cannot be matched to commands.
      redis.stream.removeAllListeners('data');
      const error = new MalformedReply(`Redis sent a malformed reply: ${cause.message}`);
      redis.recoverFromFatalError(error, error, { offlineQueue: false });
    },
    dispatch(this: DataHandler, handleReply: () => void) {
      try {
        handleReply();
      } catch (error) {
        this.returnFatalError(error instanceof Error ? error : new Error(String(error)));
      }
    },
    shiftCommand(this: DataHandler) {
      const item = this.redis.commandQueue.shift();
      if (item === undefined) throw new Error('no command waits for it');
      return item;
    },
  });
}
