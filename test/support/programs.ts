import { spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { canConnect } from './http/can-connect.ts';

/* Programs that tests start, where they are installed. */

export const isInstalled = (program: string, ...args: string[]) =>
  spawnSync(program, args).error === undefined;

/** Chromium of the system; undefined if it is not installed. Without windows of its own it takes a third less CPU time. */
export const chromiumPath = ['chromium-headless-shell', 'chromium', 'chromium-browser']
  .map((name) => `/usr/bin/${name}`)
  .find((path) => existsSync(path));

/** A Python that has the package requests, which samples for clients use; undefined if there is none. */
export const pythonPath = ['python3', '/usr/bin/python3'].find(
  (path) => spawnSync(path, ['-c', 'import requests']).status === 0,
);

/** A Node on the PATH that is older than the project's; undefined if there is none. */
export const oldNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => {
    const [, major] = /^v(\d+)\./.exec(String(spawnSync(node, ['--version']).stdout)) ?? [];
    return Number(major) < 26;
  });

/** The library that the program faketime preloads; undefined if it is not installed. */
export const fakeTimeLibrary = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0];

/** Environment of a process whose clock is ahead, but whose timers are right. */
export function clockAhead(seconds: number): Record<string, string> {
  return { LD_PRELOAD: fakeTimeLibrary ?? '', FAKETIME: `+${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}

/** @returns what a program has written so far to its standard output and error */
export function outputOf(
  { stdout, stderr }: ChildProcess,
  record = (_text: string): void => {},
): () => string {
  let output = '';
  for (const stream of [stdout, stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      record(chunk.toString());
    });
  }
  return () => output;
}

/** Waits until a program listens on a port of the loopback interface. @throws Error with its output, if it ends first */
export async function untilListening(child: ChildProcess, port: number, output = () => ''): Promise<void> {
  for (let attempt = 0; !(await canConnect(port)); attempt += 1) {
    if (attempt === 400 || child.exitCode !== null)
      throw new Error(`${child.spawnfile} does not listen on port ${port}: ${output()}`);
    await sleep(25);
  }
}

/** Sends a signal to a program that has not ended, and waits until it has. */
export async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
