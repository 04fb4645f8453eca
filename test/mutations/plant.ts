import { hash } from 'node:crypto';
import { stripTypeScriptTypes } from 'node:module';

/** A change of one line of a source, made to see whether a test fails. */
export interface Mutation {
  file: string;
  /** Number of the line, from 1. */
  line: number;
  rule: string;
  before: string;
  after: string;
}

interface Rule {
  name: string;
  pattern: RegExp;
  /** Undefined for a match that stays as it is. */
  replace(...match: string[]): string | undefined;
}

const swap = (name: string, one: string, other: string): Rule[] =>
  [
    [one, other],
    [other, one],
  ].map(([from = '', to = '']) => ({
    name,
    pattern: new RegExp(from.replaceAll(/[.*+?|()]/g, String.raw`\$&`), 'g'),
    replace: () => to,
  }));

const shared: readonly Rule[] = [
  ...swap('bound', ' < ', ' <= '),
  ...swap('bound', ' > ', ' >= '),
  ...swap('operator', ' + ', ' - '),
  ...swap('operator', ' * ', ' / '),
  ...swap('bound', 'ath.max(', 'ath.min('),
  {
    name: 'number',
    pattern: /(?<![\w.'%[])(\d+)(?![\w.'\]])/g,
    replace: (digits) => String(Number(digits) + 1),
  },
  {
    name: 'order of arguments',
    pattern: /(?<=\w\()(?<!ath\.m(?:ax|in)\()([\w.[\]]+), ([\w.[\]]+)(?=[,)])/g,
    replace: (_, one = '', other = '') => (one === other ? undefined : `${other}, ${one}`),
  },
];

const lua: readonly Rule[] = [
  ...shared,
  ...swap('comparison', ' == ', ' ~= '),
  ...swap('condition', ' and ', ' or '),
  { name: 'branch', pattern: /\bif (.+) then/g, replace: (_, test = '') => `if not (${test}) then` },
  { name: 'key', pattern: /(?<=')((?:gw:)?[a-z]{2,}[A-Za-z]*:?)(?=')/g, replace: (text) => `x${text}` },
  {
    name: 'removed line',
    pattern: /^ +(redis\.p?call\(.*\)|[\w.[\]]+(, [\w.[\]]+)* = .+|break)$/g,
    replace: () => '',
  },
];

const typescript: readonly Rule[] = [
  ...shared,
  ...swap('comparison', ' === ', ' !== '),
  ...swap('condition', ' && ', ' || '),
  { name: 'condition', pattern: / \?\? /g, replace: () => ' && ' },
  {
    name: 'branch',
    pattern: /\bif \((.+?)\) (?=return|continue|throw|break|\{|\w)/g,
    replace: (_, test = '') => `if (!(${test})) `,
  },
  {
    name: 'branch',
    pattern: /(?<= )(\w[\w.]*|\S+ [=!<>]=* \S+) \? (\S+) : (\S+)(?=[;,)])/g,
    replace: (_, test = '', one = '', other = '') => `${test} ? ${other} : ${one}`,
  },
  {
    name: 'result',
    pattern: /\b(true|false)\b(?=[;,)])/g,
    replace: (word) => (word === 'true' ? 'false' : 'true'),
  },
  {
    name: 'removed line',
    pattern: /^ +((?:void |await )?[\w.]+\([^{]*\)|[\w.]+ [-+]?= [^{[(]+);$/g,
    replace: () => '',
  },
];

/** The lines of a source that are neither comments nor, in TypeScript, imports, types and texts alone. */
function codeLines(text: string, isLua: boolean): (string | undefined)[] {
  let comment = false;
  let type = false;
  return text.split('\n').map((line) => {
    const opens = isLua ? line.startsWith('--[[') : /^\s*\/\*/.test(line);
    const closes = isLua ? line.startsWith(']]') : line.includes('*/');
    comment ||= opens;
    const inComment = comment;
    if (closes) comment = false;
    if (inComment) return undefined;
    if (isLua) return /^\s*(--|$)/.test(line) ? undefined : line;
    if (/^(export )?(interface|type|declare) /.test(line)) type = true;
    const inType = type;
    if (type && /^\}|;$/.test(line) && !/^ {2,}/.test(line)) type = false;
    const isCode = !inType && !/^\s*(\/\/|import |export (type|\{|\*)|function |\}?\s*$|help: )/.test(line);
    // The annotation of a parameter or field: changes nothing that runs.
    return isCode && !/^\s*(readonly )?\w+\??: [\w<>[\], |'.()=]+;$/.test(line) ? line : undefined;
  });
}

/** Every change that the rules make of a source. */
export function allMutations(file: string, text: string): Mutation[] {
  const isLua = file.endsWith('.lua');
  return codeLines(text, isLua).flatMap((before, index) =>
    before === undefined
      ? []
      : (isLua ? lua : typescript).flatMap(({ name, pattern, replace }) =>
          Array.from(before.matchAll(pattern), (match): Mutation | undefined => {
            const replacement = replace(...match);
            if (replacement === undefined) return undefined;
            const after =
              before.slice(0, match.index) + replacement + before.slice(match.index + match[0].length);
            return { file, line: index + 1, rule: name, before: before.trim(), after: after.trim() };
          }).filter((mutation) => mutation !== undefined),
        ),
  );
}

/** A change that does not parse would show nothing. Those of Lua parse by their rules. */
function isTypeScript(text: string): boolean {
  try {
    stripTypeScriptTypes(text);
    return true;
  } catch {
    return false;
  }
}

/** What tells a change: neither its line number nor what else the file has. */
export const identify = ({ file, before, after }: Omit<Mutation, 'line' | 'rule'>): string =>
  `${file}: ${before} -> ${after}`;

/**
 * Picks changes of a source: always the same ones of the same lines, at most one a line, from all rules by turns.
 * @returns fewer than asked for if there are not as many
 */
export function pickMutations(file: string, text: string, count: number): Mutation[] {
  const ordered = allMutations(file, text)
    .filter((mutation) => file.endsWith('.lua') || isTypeScript(plant(text, mutation)))
    .map((mutation) => ({ mutation, order: hash('sha1', identify(mutation), 'hex') }))
    .toSorted((one, other) => (one.order < other.order ? -1 : 1))
    .map(({ mutation }) => mutation);
  const lines = new Set<number>();
  const picked: Mutation[] = [];
  while (picked.length < count) {
    const free = ordered.filter(({ line }) => !lines.has(line));
    const rules = Map.groupBy(free, ({ rule }) => rule);
    if (rules.size === 0) break;
    for (const [first] of rules.values()) {
      if (first === undefined || lines.has(first.line) || picked.length === count) continue;
      lines.add(first.line);
      picked.push(first);
    }
  }
  return picked.toSorted((one, other) => one.line - other.line);
}

/**
 * Finds a line to change.
 * @param before the line without its indentation
 * @throws Error if the source does not have it exactly once
 */
export function chooseMutation(file: string, text: string, before: string, after: string): Mutation {
  const found = text.split('\n').flatMap((line, index) => (line.trim() === before ? [index + 1] : []));
  const [line] = found;
  if (line === undefined || found.length > 1) throw new Error(`${file} has not one line: ${before}`);
  return { file, line, rule: 'chosen', before, after };
}

/** The source with a change. */
export function plant(text: string, { line, before, after }: Mutation): string {
  const lines = text.split('\n');
  lines[line - 1] = (lines[line - 1] ?? '').replace(before, () => after);
  return lines.join('\n');
}
