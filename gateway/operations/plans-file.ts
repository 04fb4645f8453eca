import { isUtf8 } from 'node:buffer';
import { isPair, isScalar, LineCounter, parseDocument, visit, type Document } from 'yaml';
import type { z } from 'zod';
import { banPolicySetting } from '../quota/ban-policy.ts';
import { usageSetting } from '../quota/usage-policy.ts';
import { InvalidOperation } from './invalid-operation.ts';
import { nearestName } from './nearest-name.ts';
import { anonymousFileSchema, planFileSchema, plansFileSchema, type PlansFile } from './plans-file-schema.ts';

/** Size of some 6,000 plans. Reading a hostile file of this size takes seconds at most. */
export const maxFileBytes = 256 * 1024;
const maxIssues = 10;
const maxShownCharacters = 40;

interface Issue {
  /** Offset in the text. */
  offset: number;
  text: string;
}

/**
 * Parses a file of plans and ban policy.
 * @param name what the messages call the file
 * @throws InvalidOperation that names line, column and field of what is invalid
 */
export function parsePlansFile(bytes: Uint8Array, name: string): PlansFile {
  if (bytes.length > maxFileBytes) {
    throw new InvalidOperation(`${name} has more than ${maxFileBytes} bytes: is it the right file?`);
  }
  const text = decode(bytes, name);
  const lines = new LineCounter();
  const doc = parseYaml(text, lines, name);
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return `${name}:${Math.max(1, line)}:${Math.max(1, col)}`;
  };
  const fail = (issues: readonly Issue[]): never => {
    const inOrder = issues.toSorted((one, other) => one.offset - other.offset);
    const texts = new Set(inOrder.map(({ offset, text: problem }) => `${place(offset)}: ${problem}`));
    const rest = texts.size > maxIssues ? [`and ${texts.size - maxIssues} more`] : [];
    throw new InvalidOperation([...Array.from(texts).slice(0, maxIssues), ...rest].join('; '));
  };
  const syntax = syntaxIssues(doc, lines);
  if (syntax.length > 0) return fail(syntax);
  const value: unknown = doc.toJS();
  if (value === null) throw new InvalidOperation(`${name} is empty: ops plans export writes such a file`);
  const parsed = plansFileSchema.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const offsetOf = createOffsets(doc);
  return fail(parsed.error.issues.flatMap((issue) => describe(issue, offsetOf)));
}

/** @throws InvalidOperation if it is not UTF-8 */
function decode(bytes: Uint8Array, name: string): string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return decoder.decode(bytes);
  } catch {
    const lines = Buffer.from(bytes).toString('latin1').split('\n');
    const line = lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1')));
    throw new InvalidOperation(`${name}:${line + 1}: the file is not UTF-8: save it with this encoding`);
  }
}

/** @throws InvalidOperation if it is nested more deeply than the parser, which is recursive, can follow */
function parseYaml(text: string, lineCounter: LineCounter, name: string): Document {
  const tooDeep = new InvalidOperation(`${name} is nested too deeply: is it the right file?`);
  try {
    // The parser's own search for duplicates takes the square of the number of names; see syntaxIssues.
    const doc = parseDocument(text, { lineCounter, prettyErrors: false, uniqueKeys: false });
    // The parser catches some of its overflows and adds them to the errors of the file.
    if (doc.errors.some(({ message }) => /call stack|stack overflow/i.test(message))) throw tooDeep;
    return doc;
  } catch (error) {
    throw error instanceof RangeError ? tooDeep : error;
  }
}

/** What is no YAML, and what YAML allows but this file does not. An alias could make a small file a huge one. */
function syntaxIssues(doc: Document, lines: LineCounter): Issue[] {
  const issues = [...doc.errors, ...doc.warnings].map(({ pos, code, message }) => ({
    offset: pos[0],
    text: code === 'MULTIPLE_DOCS' ? 'the file has more than one document' : message,
  }));
  if (issues.length > 0) return issues;
  visit(doc, {
    Alias(_key, { range, source }) {
      const text = `aliases such as *${source} are not supported: write the value out`;
      issues.push({ offset: range?.[0] ?? 0, text });
    },
    Map(_key, { items }) {
      const lineOf = new Map<string, number>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        const [offset, field] = [key.range?.[0] ?? 0, String(key.value)];
        const earlier = lineOf.get(field);
        if (earlier !== undefined) issues.push({ offset, text: `${field} is in line ${earlier}, too` });
        // Objects lose this name without an error.
        if (field === '__proto__') issues.push({ offset, text: `${field} is not a valid name` });
        lineOf.set(field, lines.linePos(offset).line);
      }
    },
  });
  return issues;
}

type OffsetOf = (path: readonly string[]) => number;

/** An issue for each field that is not known, and one for any other problem. */
function describe(issue: z.core.$ZodIssue, offsetOf: OffsetOf): Issue[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => {
      const near = nearestName(key, fields.get(path[0]) ?? []);
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      const field = [...path, key];
      return { offset: offsetOf(field), text: `${field.join('.')} is not known${hint}` };
    });
  }
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? '') : issue.message;
  const shown = issue.code === 'invalid_key' ? '' : shownValue(issue.input);
  const field = path.length === 0 ? 'the file' : path.join('.');
  return [{ offset: offsetOf(path), text: `${field} ${message}${shown}` }];
}

/** Fields of each mapping; those of a plan under `plans`. */
const fields = new Map<string | undefined, readonly string[]>([
  [undefined, Object.keys(plansFileSchema.shape)],
  ['plans', Object.keys(planFileSchema.shape)],
  ['anonymous', Object.keys(anonymousFileSchema.shape)],
  ['banPolicy', Object.keys(banPolicySetting.values.shape)],
  ['usage', Object.keys(usageSetting.values.shape)],
]);

/** Finds the offset of the name at the end of a path, or of as much of the path as exists. */
function createOffsets(doc: Document): OffsetOf {
  const offsets = new Map<string, number>();
  visit(doc, {
    Pair(_key, { key }, ancestors) {
      if (!isScalar(key)) return;
      const names = ancestors.flatMap((node) => (isPair(node) && isScalar(node.key) ? [node.key.value] : []));
      offsets.set(pathText([...names, key.value]), key.range?.[0] ?? 0);
    },
  });
  return (path) => {
    for (let length = path.length; length > 0; length -= 1) {
      const offset = offsets.get(pathText(path.slice(0, length)));
      if (offset !== undefined) return offset;
    }
    return 0;
  };
}

const pathText = (path: readonly unknown[]) => JSON.stringify(path.map(String));

/** The value as it was read. A text could be long. */
function shownValue(value: unknown): string {
  if (value === undefined || (typeof value === 'object' && value !== null)) return '';
  // JSON has no NaN and no infinity.
  const text = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return `: ${text.length > maxShownCharacters ? `${text.slice(0, maxShownCharacters)}…` : text}`;
}
