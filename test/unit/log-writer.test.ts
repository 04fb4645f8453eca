import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const writerModule = fileURLToPath(new URL('../../gateway/log-writer.ts', import.meta.url));

/** A process that writes lines to its standard output by a log writer named `writer`, and reports by messages. */
function startWriter(script: string, stdout: 'pipe' | number = 'pipe'): ChildProcess {
  const source = `
    const { createLogWriter } = await import(${JSON.stringify(writerModule)});
    process.stdout;
    const writer = createLogWriter();
    ${script}
  `;
  const args = ['--input-type=module', '-e', source];
  return spawn(process.execPath, args, { stdio: ['ignore', stdout, 'inherit', 'ipc'] });
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);
const linesOf = (output: string) => output.split('\n').slice(0, -1);
const writeLines = (count: number) =>
  `for (let index = 1; index <= ${count}; index += 1) writer.write('line ' + index + '\\n');`;

async function output({ stdout }: ChildProcess): Promise<string> {
  return stdout === null ? '' : text(stdout);
}

async function message(child: ChildProcess): Promise<unknown> {
  const [received]: unknown[] = await once(child, 'message');
  return received;
}

test('all lines arrive in their order, also those that wait when the process exits', async () => {
  const child = startWriter(`${writeLines(10_000)} process.exit(0);`);
  expect(linesOf(await output(child))).toEqual(numbers(10_000));
});

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
      void writer.flush(60_000).then(() => process.exit(0));
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

test('lines arrive while the process goes on', async () => {
  const child = startWriter(`${writeLines(3)} setInterval(() => {}, 1000);`);
  const [first]: Buffer[] = await once(child.stdout ?? child, 'data');
  child.kill('SIGKILL');
  expect(linesOf(String(first))).toEqual(numbers(3));
});

test('a reader that stalls does not stall the process, and has what waited for it once it reads', async () => {
  const child = startWriter(`
    ${writeLines(100_000)}
    setTimeout(() => process.send('still here'), 200);
    process.once('message', () => writer.flush(60_000).then(() => process.exit(0)));
  `);
  expect(await message(child)).toBe('still here');
  child.send('go on');
  expect(linesOf(await output(child))).toEqual(numbers(100_000));
});

const overflow = `${writeLines(1_000_000)} process.send(writer.droppedLines);`;

test('beyond some MiB whole lines are given up and counted', async () => {
  const child = startWriter(
    `${overflow} process.once('message', () => writer.flush(60_000).then(() => process.exit(0)));`,
  );
  const dropped = Number(await message(child));
  expect(dropped).toBeGreaterThan(100_000);
  const lines = output(child).then(linesOf);
  child.send('go on');
  expect(await lines).toEqual(numbers(1_000_000 - dropped));
});

test('an exit does not wait for a reader that stalls', async () => {
  const child = startWriter(`${overflow} process.once('message', () => process.exit(7));`);
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
