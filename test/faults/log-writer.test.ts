import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const writerModule = fileURLToPath(new URL('../../gateway/platform/runtime/log.ts', import.meta.url));

function writerScript(script: string): string {
  return `
    const { createLogWriter } = await import(${JSON.stringify(writerModule)});
    const writer = createLogWriter((lines) => writer.write('dropped: ' + lines + '\\n'));
    ${script}
  `;
}

/** Starts a process that logs to its standard output with `writer` and reports over IPC. */
function startWriter(
  script: string,
  stdout: 'pipe' | number = 'pipe',
  command: [string, ...string[]] = [process.execPath],
): ChildProcess {
  const [program, ...args] = command;
  args.push('--input-type=module', '-e', writerScript(script));
  return spawn(program, args, { stdio: ['ignore', stdout, 'inherit', 'ipc'] });
}

const numberedLines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);
const splitLines = (output: string) => output.split('\n').slice(0, -1);
const writeLines = (count: number) =>
  `for (let index = 1; index <= ${count}; index += 1) writer.write('line ' + index + '\\n');`;

const flushAndExit = '() => writer.flush(60_000).then(() => process.exit(0))';

async function readOutput({ stdout }: ChildProcess): Promise<string> {
  return stdout === null ? '' : text(stdout);
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  const [received]: unknown[] = await once(child, 'message');
  return received;
}

/** Runs node with a file size limit of 16 KiB. Writes beyond it fail as on a full disk. */
const nodeWithSmallFiles: [string, ...string[]] = [
  'sh',
  '-c',
  'ulimit -S -f 32 && exec "$0" "$@"',
  process.execPath,
];

describe('a log writer', () => {
  /** Expects a process to keep running while its pipe is full, and all lines to arrive afterwards. */
  async function expectNotBlocked(setup = ''): Promise<void> {
    const child = startWriter(`
        ${setup}
        ${writeLines(100_000)}
        setTimeout(() => process.send('still here'), 200);
        process.once('message', ${flushAndExit});
      `);
    expect(await nextMessage(child)).toBe('still here');
    child.send('go on');
    expect(splitLines(await readOutput(child))).toEqual(numberedLines(100_000));
  }

  test('all lines arrive in order, including lines that are buffered when the process exits', async () => {
    const child = startWriter(`${writeLines(10_000)} process.exit(0);`);
    expect(splitLines(await readOutput(child))).toEqual(numberedLines(10_000));
  });

  test('lines are buffered while the disk is full and written when it has room', async () => {
    await using directory = await temporaryDirectory();
    const path = join(directory.path, 'log');
    await using file = await open(path, 'a');
    const child = startWriter(
      `${writeLines(5000)} setInterval(() => {}, 1000);`,
      file.fd,
      nodeWithSmallFiles,
    );
    const size = async () => (await file.stat()).size;
    let written = '';
    for (let round = 1; round <= 2; round += 1) {
      await expect.poll(size).toBe(16 * 1024);
      written += await readFile(path, 'utf8');
      await file.truncate();
    }
    const expected = numberedLines(5000).join('\n').length + 1;
    await expect.poll(async () => written.length + (await size())).toBe(expected);
    child.kill();
    expect(splitLines(written + (await readFile(path, 'utf8')))).toEqual(numberedLines(5000));
  });

  test('a stalled reader does not block the process after another process that shares the pipe has exited', async () => {
    await expectNotBlocked(`
      const { spawnSync } = await import('node:child_process');
      // Node clears O_NONBLOCK on the shared pipe when it starts and again when it exits.
      spawnSync(process.execPath, ['-e', 'process.stdout'], { stdio: 'inherit' });
    `);
  });

  test('lines stay whole when another process writes to the same pipe', async () => {
    const otherScript = writerScript(
      `${writeLines(30_000)} writer.flush(60_000).then(() => process.exit(0));`,
    );
    const child = startWriter(`
        const { spawn } = await import('node:child_process');
        const args = ['--input-type=module', '-e', ${JSON.stringify(otherScript)}];
        const other = spawn(process.execPath, args, { stdio: 'inherit' });
        ${writeLines(30_000)}
        // Longer than both processes take to fill the pipe.
        setTimeout(() => process.send('read'), 500);
        other.on('exit', ${flushAndExit});
      `);
    await nextMessage(child);
    expect(splitLines(await readOutput(child)).toSorted()).toEqual(
      [...numberedLines(30_000), ...numberedLines(30_000)].toSorted(),
    );
  });
});

const overflow = `${writeLines(1_000_000)} process.send(writer.droppedLines);`;

/** Runs the script with its output in a file, and returns the lines after it exits. */
async function logToFile(script: string): Promise<string[]> {
  await using directory = await temporaryDirectory();
  const path = join(directory.path, 'log');
  await using file = await open(path, 'w');
  await once(startWriter(script, file.fd), 'exit');
  return splitLines(await readFile(path, 'utf8'));
}

test('a log file has the lines that were buffered or being written when the process exits', async () => {
  const lines = await logToFile(`
    ${writeLines(100_000)}
    // By now the thread has the first lines.
    setTimeout(() => {
      writer.write('line 100001\\n');
      process.exit(0);
    }, 21);
  `);
  expect(lines.toSorted()).toEqual(numberedLines(100_001).toSorted());
});

test('lines beyond the buffer limit are dropped whole, counted, and reported when the reader reads again', async () => {
  const child = startWriter(`${overflow} process.once('message', ${flushAndExit});`);
  const dropped = Number(await nextMessage(child));
  expect(dropped).toBeGreaterThan(100_000);
  const lines = readOutput(child).then(splitLines);
  child.send('go on');
  expect(await lines).toEqual([...numberedLines(1_000_000 - dropped), `dropped: ${dropped}`]);
});
