import { fork } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/*
 * A fixed piece of work, timed on the core of the measured process just before and after it: other virtual machines on
 * the same hardware make a core slower and faster within seconds. Run as a program, this file is the process that works.
 */

export interface Calibration extends AsyncDisposable {
  /** @returns CPU time of the work in seconds */
  measure(): Promise<number>;
}

const file = fileURLToPath(import.meta.url);

export async function startCalibration(core: number): Promise<Calibration> {
  const child = fork(file, { execPath: 'taskset', execArgv: ['-c', String(core), process.execPath] });
  const measure = async () => {
    const replied = once(child, 'message');
    child.send('measure');
    const [seconds] = await replied;
    return Number(seconds);
  };
  // V8 compiles the work meanwhile.
  for (let run = 0; run < 20; run += 1) await measure();
  return {
    measure,
    async [Symbol.asyncDispose]() {
      const exited = once(child, 'exit');
      child.disconnect();
      await exited;
    },
  };
}

const pets = Array.from({ length: 100 }, (_, id) => ({ id, name: `Luna ${id}`, status: 'sold' }));

/** Objects, text, hashes and garbage, as in a request; some 50 ms. */
function work(): number {
  let length = 0;
  for (let round = 0; round < 600; round += 1) {
    const text = JSON.stringify(pets);
    length += (JSON.parse(text) as unknown[]).length + hash('sha256', text).length;
  }
  return length;
}

if (process.argv[1] === file) {
  process.on('message', () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    process.send?.((user + system) / 1e6);
  });
}
