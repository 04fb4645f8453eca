import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { startBothServices } from '../support/kits/both-services.ts';
import { startBrowser } from '../support/kits/browser.ts';
import { shared } from '../support/kits/shared.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';
import { pythonPath } from '../support/programs.ts';

/** The code of the documentation, as somebody copies it from a browser, runs. */
describe('code that the documentation shows', { tags: ['chromium'] }, () => {
  const services = shared(startBothServices);
  const browser = shared(startBrowser);

  /** @returns what the code prints */
  async function run(command: string, args: string[]): Promise<string> {
    const env = { PATH: process.env['PATH'], ANIMAL_STORE_KEY: services.key };
    const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    return output;
  }

  // Without the progress that curl shows.
  const runShell = (code: string) => run('sh', ['-c', `(${code}) 2>/dev/null`]);

  async function runFile(command: string, name: string, code: string): Promise<string> {
    await using directory = await temporaryDirectory();
    const file = join(directory.path, name);
    await writeFile(file, code);
    return await run(command, [file]);
  }

  const runTypeScript = (code: string) => runFile(process.execPath, 'sample.mts', code);
  const runPython = (code: string) => runFile(pythonPath ?? '', 'sample.py', code);

  const open = async (path: string): Promise<Page> => (await browser.open(services.gateway.url + path)).page;

  /** The only block of code on a page that contains a text. */
  async function codeWith(path: string, part: string): Promise<string> {
    const page = await open(path);
    const blocks = await page.locator('pre').allTextContents();
    const found = blocks.filter((code) => code.includes(part));
    expect(found).toHaveLength(1);
    return found[0] ?? '';
  }

  describe('in the reference', () => {
    for (const { language, tags, runCode } of [
      { language: 'curl', tags: ['curl'], runCode: runShell },
      { language: 'TypeScript', tags: [], runCode: runTypeScript },
      { language: 'Python', tags: ['python-requests'], runCode: runPython },
    ])
      test(`runs in ${language}`, { tags }, async () => {
        const page = await open('/docs/reference');
        const samples = await page.locator(`[data-language="${language}"] code`).allTextContents();
        const outputs = await Promise.all(samples.map(runCode));
        expect(outputs.map((output) => /^(?:HTTP\/1\.1 )?(\d+)/.exec(output)?.[1])).toEqual([
          '200',
          '201',
          '200',
          '200',
        ]);
      });
  });

  describe('in the guide', () => {
    test('lists and creates in curl', { tags: ['curl'] }, async () => {
      expect(await runShell(await codeWith('/docs', 'limit=2'))).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      const create = await codeWith('/docs', 'Idempotency-Key:');
      // The first line makes a key, and a retry sends it again.
      const [, ...retry] = create.split('\n');
      const output = await runShell([create, ...retry].join('\n'));
      const [first = '', again = ''] = output.split(/(?=HTTP\/1\.1 )/);
      expect(first).toMatch(/^HTTP\/1\.1 201 Created\r\n/);
      expect(again).toMatch(/^Idempotency-Replayed: true\r$/im);
      expect(again.split('\r\n\r\n')[1]).toBe(first.split('\r\n\r\n')[1]);
    });

    test('goes through all pages in TypeScript', async () => {
      const code = await codeWith('/docs', 'rel="next"');
      const small = code.replace('limit=100', 'limit=2').replace('console.log(', 'report(');
      const output = await runTypeScript(`${small}
        function report(pets: { id: number }[]) {
          console.log(pets.map(({ id }) => id).join('\\n'));
        }`);
      const ids = output.trim().split('\n').map(Number);
      expect(ids.length).toBeGreaterThan(4);
      expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b));
    });
  });
});
