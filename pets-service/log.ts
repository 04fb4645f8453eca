import { type Logger, pino } from 'pino';
import { PinoPretty } from 'pino-pretty';

const forPeople = {
  ignore: 'pid,hostname,service',
  messageFormat: '{service}: {msg}',
  singleLine: true,
  sync: true,
};

/** Lines are written together, since a write for each would cost more than the line itself. */
const flushMs = 10;
/** Of lines that wait for their reader, in UTF-16 units. What comes beyond is given up. */
const maxLength = 4 * 1024 * 1024;

/** One JSON line an event on standard output; readable lines where that is a terminal. */
export function createLog(level: string): Logger {
  const options = { level, base: { service: 'pets-service' } };
  if (process.stdout.isTTY) return pino(options, PinoPretty(forPeople));
  return pino(options, standardOutput());
}

/** What is left when the process ends is written then, which pino sees to; SIGKILL may take the last lines. */
function standardOutput() {
  const output = pino.destination({ dest: 1, sync: false, minLength: 8 * 1024, maxLength });
  const { flushSync } = output;
  // A full disk, say: the lines wait and are tried again with the next one, and requests are served meanwhile. An exit,
  // however, would try for ever.
  output.on('error', () => {
    output.flushSync = () => {};
    output.once('write', () => {
      output.flushSync = flushSync;
    });
  });
  let due: NodeJS.Timeout | undefined;
  function flush(): void {
    due = undefined;
    output.flush();
  }
  return {
    write(line: string): void {
      output.write(line);
      due ??= setTimeout(flush, flushMs).unref();
    },
  };
}
