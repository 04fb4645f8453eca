import type { Service } from '../kits/service.ts';

const alarm = /"level":[56]0|internal_error|Uncaught|Unhandled|DeprecationWarning|MaxListeners/;
/** Logged on a machine that is so busy that Redis times out for a moment. */
const busyMachine = /"msg":"Redis is unavailable; known keys/;

/** Output lines of a service that point to a bug. */
export function errorLinesOf({ output }: Pick<Service, 'output'>): string[] {
  return output()
    .split('\n')
    .filter((line) => alarm.test(line) && !busyMachine.test(line));
}
