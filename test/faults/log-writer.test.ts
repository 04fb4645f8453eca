import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const writerModule = fileURLToPath(new URL('../../gateway/runtime/log-writer.ts', import.meta.url));

function sourceOf(script: string): string {
  return `
    const { createLogWriter } = await import(${JSON.stringify(writerModule)});
    const writer = createLogWriter((lines) => writer.write('dropped: ' + lines + '\\n'));
    ${script}
  `;
}

/** A process that writes lines to its standard output by a log writer named `writer`, and reports by messages. */
function startWriter(
  script: string,
  stdout: 'pipe' | number = 'pipe',
  command: [string, ...string[]] = [process.execPath],
): ChildProcess {
  const [program, ...args] = command;
  args.push('--input-type=module', '-e', sourceOf(script));
  return spawn(program, args, { stdio: ['ignore', stdout, 'inherit', 'ipc'] });
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);
const linesOf = (output: string) => output.split('\n').slice(0, -1);
const writeLines = (count: number) =>
  `for (let index = 1; index <= ${count}; index += 1) writer.write('line ' + index + '\\n');`;

const flushAndExit = '() => writer.flush(60_000).then(() => process.exit(0))';

async function output({ stdout }: ChildProcess): Promise<string> {
  return stdout === null ? '' : text(stdout);
}

async function message(child: ChildProcess): Promise<unknown> {
  const [received]: unknown[] = await once(child, 'message');
  return received;
}

/** Runs node with files of 16 KiB at the most: what comes beyond does not fit, as on a disk that is full. */
const withSmallFiles: [string, ...string[]] = [
  'sh',
  '-c',
  'ulimit -S -f 32 && exec "$0" "$@"',
  process.execPath,
];

describe('a log writer', () => {
  /** Of a process that writes more than a pipe takes before anybody reads. */
  async function expectPatience(before = ''): Promise<void> {
    const child = startWriter(`
        ${before}
        ${writeLines(100_000)}
        setTimeout(() => process.send('still here'), 200);
        process.once('message', ${flushAndExit});
      `);
    expect(await message(child)).toBe('still here');
    child.send('go on');
    expect(linesOf(await output(child))).toEqual(numbers(100_000));
  }

  test('all lines arrive in their order, also those that wait when the process exits', async () => {
    const child = startWriter(`${writeLines(10_000)} process.exit(0);`);
    expect(linesOf(await output(child))).toEqual(numbers(10_000));
  });

  test('on a full disk lines wait until there is room again', async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'log');
    await using file = await open(path, 'a');
    const child = startWriter(`${writeLines(5000)} setInterval(() => {}, 1000);`, file.fd, withSmallFiles);
    const size = async () => (await file.stat()).size;
    let found = '';
    for (let time = 1; time <= 2; time += 1) {
      await expect.poll(size).toBe(16 * 1024);
      found += await readFile(path, 'utf8');
      await file.truncate();
    }
    const expected = numbers(5000).join('\n').length + 1;
    await expect.poll(async () => found.length + (await size())).toBe(expected);
    child.kill();
    expect(linesOf(found + (await readFile(path, 'utf8')))).toEqual(numbers(5000));
  });

  test('another process that shares the pipe and ends does not make a stalled reader stall this one', async () => {
    await expectPatience(`
      const { spawnSync } = await import('node:child_process');
      // It takes the flag away under which writes do not wait: when it starts, and when it ends once more.
      spawnSync(process.execPath, ['-e', 'process.stdout'], { stdio: 'inherit' });
    `);
  });

  test('another process that writes to the same pipe breaks no line', async () => {
    const other = sourceOf(`${writeLines(30_000)} writer.flush(60_000).then(() => process.exit(0));`);
    const child = startWriter(`
        const { spawn } = await import('node:child_process');
        const args = ['--input-type=module', '-e', ${JSON.stringify(other)}];
        const other = spawn(process.execPath, args, { stdio: 'inherit' });
        ${writeLines(30_000)}
        // Longer than both take to fill the pipe, and to find it full.
        setTimeout(() => process.send('read'), 500);
        other.on('exit', ${flushAndExit});
      `);
    await message(child);
    expect(linesOf(await output(child)).toSorted()).toEqual(
      [...numbers(30_000), ...numbers(30_000)].toSorted(),
    );
  });

  test('lines arrive while the process goes on', async () => {
    const child = startWriter(`${writeLines(3)} setInterval(() => {}, 1000);`);
    const [first]: Buffer[] = await once(child.stdout ?? child, 'data');
    child.kill('SIGKILL');
    expect(linesOf(String(first))).toEqual(numbers(3));
  });

  test('a reader that stalls does not stall the process, and has what waited for it once it reads', async () => {
    await expectPatience();
  });

  test('an exit does not wait for a reader that stalls', async () => {
    const child = startWriter(
      `${writeLines(1_000_000)} process.once('message', () => process.exit(7)); process.send('written');`,
    );
    await message(child);
    child.send('exit');
    expect(await once(child, 'exit')).toEqual([7, null]);
  });

  test('a reader that has gone does not keep the process from working or exiting', async () => {
    const child = startWriter(`
      process.once('message', () => {
        ${writeLines(10_000)}
        setTimeout(() => {
          ${writeLines(10_000)}
          process.exit(7);
        }, 100);
      });
      process.send('ready');
    `);
    await message(child);
    child.stdout?.destroy();
    child.send('write');
    expect(await once(child, 'exit')).toEqual([7, null]);
  });
});

const overflow = `${writeLines(1_000_000)} process.send(writer.droppedLines);`;

/** Writes into a file, and returns its lines once the process has ended. */
async function linesInFile(script: string): Promise<string[]> {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'log');
  await using file = await open(path, 'w');
  await once(startWriter(script, file.fd), 'exit');
  return linesOf(await readFile(path, 'utf8'));
}

test('a file has all lines in their order, though a thread writes them', async () => {
  const lines = await linesInFile(`
    let written = 0;
    const more = setInterval(() => {
      for (let line = 0; line < 1000; line += 1) writer.write('line ' + (written += 1) + '\\n');
      // As after a line at level warn.
      if (written % 3000 === 0) writer.writeWaiting();
      if (written < 50_000) return;
      clearInterval(more);
      void (${flushAndExit})();
    }, 3);
  `);
  expect(lines).toEqual(numbers(50_000));
});

test('a file has those lines, too, that a thread is writing or that wait when the process exits', async () => {
  const lines = await linesInFile(`
    ${writeLines(100_000)}
    // Once the thread has been given what there is.
    setTimeout(() => {
      writer.write('line 100001\\n');
      process.exit(0);
    }, 21);
  `);
  expect(lines.toSorted()).toEqual(numbers(100_001).toSorted());
});

test('beyond what may wait, lines for a full disk are counted', { tags: ['linux'] }, async () => {
  await using full = await open('/dev/full', 'w');
  const script = `${overflow} process.exit(7);`;
  const child = startWriter(script, full.fd);
  expect(Number(await message(child))).toBeGreaterThan(100_000);
  expect(await once(child, 'exit')).toEqual([7, null]);
});

test('beyond some MiB whole lines are dropped, counted, and reported when lines can be written again', async () => {
  const child = startWriter(`${overflow} process.once('message', ${flushAndExit});`);
  const dropped = Number(await message(child));
  expect(dropped).toBeGreaterThan(100_000);
  const lines = output(child).then(linesOf);
  child.send('go on');
  expect(await lines).toEqual([...numbers(1_000_000 - dropped), `dropped: ${dropped}`]);
});
