import { readFileSync } from 'node:fs';
import { windows } from '../../limits/windows.ts';
import { scriptOutcome, type ScriptDefinition } from './define-scripts.ts';

const outcomes = Object.entries(scriptOutcome).map(([name, value]) => `${name} = ${value}`);
const luaWindows = windows.map(({ name, ...window }) => {
  const end = 'lengthMs' in window ? `lengthMs = ${window.lengthMs}` : `calendar = '${window.calendar}'`;
  return `{ name = '${name}', ${end} }`;
});
/** What the scripts share with the sources. */
const tables = `local outcome = { ${outcomes.join(', ')} }\nlocal windows = { ${luaWindows.join(', ')} }\n`;

const includeLine = /^-- include: (\S+)\n/gm;

/** Lua scripts in Redis have no imports: each file that a script includes comes once, before what includes it. */
export function loadScript(name: string): string {
  const included = new Set<string>();
  function load(file: string): string {
    if (included.has(file)) return '';
    included.add(file);
    const text = readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8');
    const before = Array.from(text.matchAll(includeLine), ([, other = '']) => load(other));
    return before.join('') + text.replaceAll(includeLine, '');
  }
  return tables + load(name);
}

/** Loads scripts whose file name ends with the number of their keys; without one, each call says it. */
export function definitionsOf(
  files: Readonly<Record<string, string>>,
  load: (file: string) => string = loadScript,
): Record<string, ScriptDefinition> {
  return Object.fromEntries(
    Object.entries(files).map(([method, file]): [string, ScriptDefinition] => {
      const [, keys] = /-(\d)\.lua$/.exec(file) ?? [];
      return [method, { lua: load(file), ...(keys === undefined ? {} : { numberOfKeys: Number(keys) }) }];
    }),
  );
}

/** Loads scripts with audited.lua after them. Each call says the number of keys. */
export function auditedDefinitionsOf(
  files: Readonly<Record<string, string>>,
): Record<string, ScriptDefinition> {
  const audited = loadScript('audited.lua');
  return Object.fromEntries(
    Object.entries(files).map(([method, file]) => [
      method,
      { lua: `local function change()\n${loadScript(file)}\nend\n${audited}` },
    ]),
  );
}
