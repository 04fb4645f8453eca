import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { lockDataDirectory } from '#runtime/data-directory.ts';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../../../support/kits/temporary-directory.ts';

test('a process that asks at the same moment and gives up keeps nobody from the lock', async () => {
  await using directory = await temporaryDirectory();
  // Of two that ask at once, the one that gives up has read the file before.
  const loser = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads');
     const { DatabaseSync } = require('node:sqlite');
     const database = new DatabaseSync(workerData);
     database.exec('BEGIN; SELECT * FROM sqlite_master');
     parentPort.postMessage('reading');
     Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
     database.close();`,
    { eval: true, workerData: join(directory.path, 'redis.lock') },
  );
  const exited = once(loser, 'exit');
  await once(loser, 'message');
  const unlock = lockDataDirectory(directory.path, 'redis');
  await exited;
  expect(() => lockDataDirectory(directory.path, 'redis')).toThrow(
    `DATA_DIR: ${directory.path} is in use by another process`,
  );
  unlock();
  lockDataDirectory(directory.path, 'redis')();
});
