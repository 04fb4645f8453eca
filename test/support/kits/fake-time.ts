import { globSync } from 'node:fs';

/** The library that the program faketime preloads; undefined if it is not installed. */
export const fakeTimeLibrary = globSync('/usr/lib/*/faketime/libfaketimeMT.so.1')[0];

/** Environment of a process whose clock is ahead, but whose timers are right. */
export function clockAhead(seconds: number): Record<string, string> {
  return { LD_PRELOAD: fakeTimeLibrary ?? '', FAKETIME: `+${seconds}s`, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
}
