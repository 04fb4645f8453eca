import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { program } from '../../gateway/faces/command/program.ts';
import { formatApiKeyRecord, formatCustomerRecord } from '../../gateway/keys/records.ts';
import { isWindowName, windowNames, windows } from '../../gateway/limits/windows.ts';
import { dashboard } from '../support/checks/observability-files.ts';
import { describeReference } from '../support/checks/reference.ts';
import { temporaryDirectory } from '../support/kits/temporary-directory.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

const documents = ['.', '.github', 'gateway', 'pets-service', 'prisma', 'test']
  .flatMap((folder) => globSync(folder === '.' ? '*.md' : `${folder}/**/*.md`, { cwd: root }))
  // Those in test/support are fixtures.
  .filter((path) => !/node_modules|^test\/support/.test(path));

/** Lines of documents with another limit than 200. The reference is looked up, not read. */
const limits: Record<string, number> = { 'README.md': 120, 'gateway/REFERENCE.md': 300 };

/** Pages of a running gateway. Their links are those of the pages. */
const isGuide = (path: string) => path.startsWith('gateway/faces/docs/');

const linesOf = (path: string) => read(path).trimEnd().split('\n');

/** Text under a heading, up to the next heading of the same or a higher level. */
function section(path: string, heading: string): string {
  const lines = linesOf(path);
  const start = lines.findIndex((line) => line.replace(/^#+ /, '') === heading && line.startsWith('#'));
  if (start === -1) throw new Error(`${path} has no heading ${heading}`);
  const level = lines[start]?.indexOf(' ') ?? 0;
  const end = lines.findIndex(
    (line, index) => index > start && /^#+ /.test(line) && line.indexOf(' ') <= level,
  );
  return lines.slice(start + 1, end === -1 ? undefined : end).join('\n');
}

/** Code in the first cell of each table row. */
const firstCells = (text: string) => Array.from(text.matchAll(/^\| `([^`]+)`/gm), ([, cell = '']) => cell);

test('TypeScript in the documents compiles with strict options', async () => {
  await using directory = await temporaryDirectory();
  for (const path of documents) {
    const blocks = Array.from(read(path).matchAll(/^ *```ts\n(.*?)^ *```/gms), ([, code = '']) => code);
    if (blocks.length === 0) continue;
    await mkdir(join(directory.path, dirname(path)), { recursive: true });
    await writeFile(join(directory.path, `${path}.mts`), [...blocks, 'export {};\n'].join('\n'));
  }
  const compilerOptions = {
    rootDirs: [directory.path, root],
    typeRoots: [join(root, 'node_modules/@types')],
    // A sample is a part of a program, and its reader's options may be fewer.
    noUnusedLocals: false,
    noPropertyAccessFromIndexSignature: false,
  };
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions,
    include: ['**/*.mts'],
    exclude: [],
  };
  await writeFile(join(directory.path, 'tsconfig.json'), JSON.stringify(config));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [tsc, '--project', directory.path], { encoding: 'utf8' });
  expect(stdout).toBe('');
}, 60_000);

test('gateway/REFERENCE.md is what the sources say: npm run describe writes it', async () => {
  const options = { ...(await resolveConfig(root)), parser: 'markdown' };
  expect(read('gateway/REFERENCE.md')).toBe(await format(describeReference(), options));
});

/** Code of a document: spans, and lines of blocks without their prompt. */
function codeOf(path: string): string[] {
  const text = read(path);
  const blocks = Array.from(text.matchAll(/^ *```\w*\n(.*?)^ *```/gms), ([, code = '']) => code);
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, '');
  const spans = Array.from(prose.matchAll(/`([^`]+)`/g), ([, code = '']) => code);
  return [...spans, ...blocks.flatMap((block) => block.split('\n'))];
}

test.each(documents)('the commands in %s exist, with their options, and so do the scripts of npm', (path) => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const code = codeOf(path);
  const called = code.flatMap((line) =>
    Array.from(line.matchAll(/\bnpm run (?:--silent |-s )?([a-z][\w:]*)/g), ([, name = '']) => name),
  );
  const command =
    /(?:^|[ (])(?:ops|gateway\/faces\/command\/main\.ts|npm run --silent ops --) ([a-z][^|;()>]*)/g;
  const commands = code.flatMap((line) => Array.from(line.matchAll(command), ([, words = '']) => words));
  const unknown = [...called.filter((name) => !(name in scripts)), ...commands.flatMap(unknownParts)];
  expect(unknown).toEqual([]);
});

/** @returns the line if it names no command, and each option that the command lacks */
function unknownParts(line: string): string[] {
  const words = line.trim().split(/\s+/);
  let command: Command = program;
  while (command.commands.length > 0) {
    const child = command.commands.find((below) => below.name() === words[0]);
    // A noun alone is not run, only named.
    if (child === undefined) return words.length > 0 ? [line] : [];
    command = child;
    words.shift();
  }
  const known = new Set(['--help', ...command.options.map(({ long }) => long)]);
  return Array.from(words.join(' ').matchAll(/(?<!\S)--[a-z-]+/g), ([option]) => option)
    .filter((option) => !known.has(option))
    .map((option) => `${line}: ${option}`);
}

test('test/README.md names test files that there are', () => {
  const table = section('test/README.md', 'Which promise is shown where');
  const named = Array.from(table.matchAll(/`([^` ]+\.test\.ts)`/g), ([, path = '']) => path);
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((path) => !existsSync(join(root, 'test', path)))).toEqual([]);
});

test('gateway/REDIS.md names every field of a plan, a customer and a key, and the open windows', () => {
  const [, ...rows] = read('gateway/REDIS.md').matchAll(/^\| (.+?) +\| .+? \| (.+) \|$/gm);
  const fieldsOf = (key: string) =>
    rows.flatMap(([, keys = '', content = '']) =>
      keys.includes(`\`${key}\``) ? Array.from(content.matchAll(/`(\w+)`/g), ([, name]) => name) : [],
    );
  const own = (record: Record<string, string>) =>
    Object.keys(record).filter((name) => !isWindowName(name) && !/^temporary[A-Z]/.test(name));
  const place = { customerId: 'cus_1', keyHash: '0' } as const;
  const customer = { id: place.customerId, name: '', plan: 'free', createdAt: '', rev: 1 };
  const key = { ...customer, ...place, id: 'key_1', hint: '' };
  expect(fieldsOf('gw:plan:<name>')).toEqual(expect.arrayContaining([...windowNames]));
  const [ofCustomer, ofKey] = [own(formatCustomerRecord(customer)), own(formatApiKeyRecord(key))];
  expect(fieldsOf('gw:customer:{<cus>}')).toEqual(expect.arrayContaining(ofCustomer));
  expect(fieldsOf('gw:key:{<cus>}:<hash>')).toEqual(expect.arrayContaining(ofKey));
  for (const { name, lengthMs } of windows) {
    expect(rows.some(([, keys = '']) => keys.includes(`gw:${name}:{<cus>}`))).toBe(lengthMs !== undefined);
  }
});

test('gateway/README.md names every folder of the gateway, and no other', () => {
  const folders = readdirSync(join(root, 'gateway'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${name}/`);
  const listed = firstCells(section('gateway/README.md', 'Folders')).filter((name) => name.endsWith('/'));
  expect(listed.toSorted()).toEqual(folders.toSorted());
});

test('gateway/README.md lists every step of the journey in its order', () => {
  const steps = Array.from(
    (/\.all\(\n(.+?)\n {4}\);/s.exec(read('gateway/app.ts'))?.[1] ?? '')
      .replaceAll(/\bofApi\(/g, '')
      .matchAll(/(?:^ {6}(?:\.\.\.)?|\), )(\w+)\(/gm),
    ([, name = '']) => name,
  );
  expect(steps).toContain('enforceQuota');
  const table = section('gateway/README.md', 'The journey of a request');
  const listed = Array.from(table.matchAll(/^\| (.+?) \|/gm)).flatMap(([, cell = '']) =>
    Array.from(cell.matchAll(/`(\w+)`/g), ([, name = '']) => name),
  );
  expect(listed).toEqual([...steps, 'renderError']);
});

test('there are at most 20 documents, with 2,800 lines in all', () => {
  expect(documents.length).toBeLessThanOrEqual(20);
  expect(documents.reduce((lines, path) => lines + linesOf(path).length, 0)).toBeLessThanOrEqual(2800);
});

test.each(documents)('%s is short, and so are the cells of its tables', (path) => {
  const lines = linesOf(path);
  expect(lines.length).toBeLessThanOrEqual(limits[path] ?? 200);
  const cells = lines
    .filter((line) => /^ *\|/.test(line))
    .flatMap((line) => line.split(/(?<!\\)\|/))
    .map((cell) => cell.trim().split(/\s+/));
  expect(cells.filter((words) => words.length > 25).map((words) => words.join(' '))).toEqual([]);
});

test.each(documents.filter((path) => !isGuide(path)))(
  'the links of %s lead to existing files and headings',
  (path) => {
    const links = Array.from(read(path).matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target);
    const broken = links.filter((link) => {
      if (/^https?:/.test(link)) return false;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && !anchorsOf(read(target)).includes(anchor);
    });
    expect(broken).toEqual([]);
  },
);

test('the links of the dashboard lead to the console, or to headings that there are', () => {
  const links = [dashboard, ...dashboard.panels].flatMap((part) => part.links.map(({ url }) => url));
  const documented = links.filter((url) => !url.startsWith('${console}/console'));
  expect([links.length > 10, documented.length > 0]).toEqual([true, true]);
  for (const url of documented) {
    const [path = '', anchor] = url.replace('${documents}/', '').split('#');
    expect(anchor === undefined || anchorsOf(read(path)).includes(anchor), url).toBe(true);
  }
});

/** Anchors that GitHub generates for the headings. */
function anchorsOf(markdown: string): string[] {
  return Array.from(markdown.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
