import { errorMessage } from '#runtime/error-message.ts';
import { isMap, isScalar, LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';

/** A YAML file that is invalid. Each issue names file, line and column. */
export class YamlFileError extends Error {
  override name = 'YamlFileError';
  readonly issues: readonly string[];

  constructor(issues: readonly string[], options?: ErrorOptions) {
    super([...new Set(issues)].join('; '), options);
    this.issues = issues;
  }
}

export interface YamlIssue {
  /** Fields that lead to what is wrong. */
  path: readonly PropertyKey[];
  text: string;
}

interface YamlFileOptions {
  maxBytes: number;
  /** Reads integers as BigInt: limits of 64-bit integers are beyond the exact range of numbers. */
  intAsBigInt?: boolean;
}

/**
 * Reads YAML as a schema has it, whose messages continue the name of a field.
 * @param name what the messages call the file
 * @returns as `value` what the file holds, with its fields in their order, and null if it is empty; as `parsed` what the schema
 * makes of it; and `describe`, which describes issues in the order of the file, each with its place, such as `plans.yaml:3:5: …`
 * @throws YamlFileError with each issue
 */
export function parseYamlFile<Schema extends z.ZodType>(
  bytes: Uint8Array,
  name: string,
  schema: Schema,
  { maxBytes, intAsBigInt = false }: YamlFileOptions,
) {
  if (bytes.length > maxBytes) {
    throw new YamlFileError([`${name} has more than ${maxBytes} bytes: is it the right file?`]);
  }
  const lineCounter = new LineCounter();
  const describeAt = (issues: readonly { offset: number; text: string }[]): string[] =>
    issues
      .toSorted((one, other) => one.offset - other.offset)
      .map(({ offset, text }) => {
        const { line, col } = lineCounter.linePos(offset);
        return `${name}:${Math.max(1, line)}:${Math.max(1, col)}: ${text}`;
      });
  let doc: Document;
  let value: unknown;
  try {
    // Throws for another encoding.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    doc = parseDocument(text, { lineCounter, prettyErrors: false, intAsBigInt });
    value = doc.errors.length > 0 ? undefined : doc.toJS();
    // Throws for an alias inside of what it stands for, which would have no end.
    JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? 0 : part));
  } catch (error) {
    // The parser's own errors are of files that are nested too deeply, or of aliases that would make them many times as large.
    const issue = `${name} can't be read (${errorMessage(error)}): is it the right file?`;
    throw new YamlFileError([issue], { cause: error });
  }
  const syntax = [...doc.errors, ...doc.warnings];
  if (syntax.length > 0) {
    throw new YamlFileError(
      describeAt(syntax.map(({ pos, message }) => ({ offset: pos[0], text: message }))),
    );
  }
  const describe = (issues: readonly YamlIssue[]) =>
    describeAt(issues.map(({ path, text }) => ({ offset: offsetOf(doc, path.map(String)), text })));
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new YamlFileError(describe(parsed.error.issues.flatMap(issuesOf)));
  return { value, parsed: parsed.data, describe };
}

/** An issue for each field that is not known, and one for any other problem. */
function issuesOf(issue: z.core.$ZodIssue): YamlIssue[] {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      path: [...path, key],
      text: `${[...path, key].join('.')} is not known`,
    }));
  const message = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? '') : issue.message;
  return [{ path, text: `${path.length === 0 ? 'the file' : path.join('.')} ${message}` }];
}

/** Finds the offset of the name at the end of a path, or of as much of the path as exists. */
function offsetOf(doc: Document, path: readonly string[]): number {
  for (let length = path.length; length > 0; length -= 1) {
    const map = doc.getIn(path.slice(0, length - 1), true);
    const pair = isMap(map)
      ? map.items.find(({ key }) => isScalar(key) && String(key.value) === path[length - 1])
      : undefined;
    if (isScalar(pair?.key)) return pair.key.range?.[0] ?? 0;
  }
  return 0;
}
