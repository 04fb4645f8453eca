import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Cluster, Redis } from 'ioredis';
import { windows } from '../../limits/windows.ts';
import { isUnknownScript } from './redis-errors.ts';

interface ScriptDefinition {
  lua: string;
  /** Undefined if the number is the first argument of each call. */
  numberOfKeys?: number;
}

/**
 * Adds a method for each script. Not defineCommand of ioredis, which sends only the hash again if Redis does not know it,
 * since another call has sent the text: between the two, the script cache may have been emptied once more.
 */
export function defineScripts(
  redis: Redis | Cluster,
  scripts: Readonly<Record<string, ScriptDefinition>>,
): void {
  for (const [name, { lua, numberOfKeys }] of Object.entries(scripts)) {
    const sha1 = hash('sha1', lua, 'hex');
    const run = async (...args: (string | number)[]): Promise<unknown> => {
      const [keys = 0, ...rest] = numberOfKeys === undefined ? args : [numberOfKeys, ...args];
      try {
        return await redis.evalsha(sha1, keys, ...rest);
      } catch (error) {
        // It was not executed, so nothing is counted twice. With its text, a script is never unknown.
        if (isUnknownScript(error)) return redis.eval(lua, keys, ...rest);
        throw error;
      }
    };
    Object.assign(redis, { [name]: run });
  }
}

/**
 * First element of what consume.lua and read-usage-4.lua return for a request. The scripts get this table as the Lua
 * table `outcome` (redis-client.ts).
 */
export const scriptOutcome = {
  /** Over a limit; not counted. */
  limited: 0,
  /** Counted in both windows, or read. */
  allowed: 1,
  /** The key is banned; nothing was counted. */
  banned: 2,
  /** The record's rev is not the one that the caller knows; nothing was counted. */
  stale: 3,
  /** A value has another type than the gateway writes. */
  wrongType: 4,
} as const;

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
