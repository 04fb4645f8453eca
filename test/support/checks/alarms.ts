import type { Service } from '../kits/service.ts';

const alarm = /"level":[56]0|internal_error|Uncaught|Unhandled|DeprecationWarning|MaxListeners/;
/** On a machine that is so busy that Redis seems to be away for a moment. */
const busyMachine = /"msg":"Redis is unavailable; known keys/;

/** What a service has written that somebody should look into. */
export function alarmsOf({ output }: Pick<Service, 'output'>): string[] {
  return output()
    .split('\n')
    .filter((line) => alarm.test(line) && !busyMachine.test(line));
}
