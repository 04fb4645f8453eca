import { spawnSync } from 'node:child_process';

/** A Python that has the package requests, which samples for clients use; undefined if there is none. */
export const pythonPath = ['python3', '/usr/bin/python3'].find(
  (path) => spawnSync(path, ['-c', 'import requests']).status === 0,
);
