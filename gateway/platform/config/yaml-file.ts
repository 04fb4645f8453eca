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

interface YamlFile {
  /** What the file holds, with its fields in their order; null if it is empty. */
  value: unknown;
  /** Describes issues in the order of the file, each with its place, such as `plans.yaml:3:5: …`. */
  describe(issues: readonly YamlIssue[]): string[];
}

interface YamlFileOptions {
  maxBytes: number;
  /** Reads integers as BigInt: limits of 64-bit integers are beyond the exact range of numbers. */
  intAsBigInt?: boolean;
}

/**
 * Reads YAML as a schema has it, whose messages continue the name of a field.
 * @param name what the messages call the file
 * @throws YamlFileError with each issue
 */
export function parseYamlFile<Schema extends z.ZodType>(
  bytes: Uint8Array,
  name: string,
  schema: Schema,
  options: YamlFileOptions,
): YamlFile & { parsed: z.output<Schema> } {
  const file = readYamlFile(bytes, name, options);
  const parsed = schema.safeParse(file.value);
  if (parsed.success) return { ...file, parsed: parsed.data };
  throw new YamlFileError(file.describe(parsed.error.issues.flatMap(issuesOf)));
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

/** @throws YamlFileError if it is no YAML */
function readYamlFile(
  bytes: Uint8Array,
  name: string,
  { maxBytes, intAsBigInt = false }: YamlFileOptions,
): YamlFile {
  if (bytes.length > maxBytes) {
    throw new YamlFileError([`${name} has more than ${maxBytes} bytes: is it the right file?`]);
  }
  const lineCounter = new LineCounter();
  const describeAt = (issues: readonly { offset: number; text: string }[]) =>
    issues
      .toSorted((one, other) => one.offset - other.offset)
      .map(({ offset, text }) => {
        const { line, col } = lineCounter.linePos(offset);
        return `${name}:${Math.max(1, line)}:${Math.max(1, col)}: ${text}`;
      });
  const [doc, value] = orYamlFileError(name, () => {
    // Throws for another encoding.
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const document = parseDocument(text, { lineCounter, prettyErrors: false, intAsBigInt });
    const found: unknown = document.errors.length > 0 ? undefined : document.toJS();
    // Throws for an alias inside of what it stands for, which would have no end.
    JSON.stringify(found, (_key, part: unknown) => (typeof part === 'bigint' ? 0 : part));
    return [document, found] as const;
  });
  const syntax = [...doc.errors, ...doc.warnings];
  if (syntax.length > 0) {
    throw new YamlFileError(
      describeAt(syntax.map(({ pos, message }) => ({ offset: pos[0], text: message }))),
    );
  }
  return {
    value,
    describe: (issues) =>
      describeAt(
        issues.map(({ path, text: problem }) => ({ offset: offsetOf(doc, path.map(String)), text: problem })),
      ),
  };
}

/** The parser's own errors are of files that are nested too deeply, or of aliases that would make them many times as large. */
function orYamlFileError<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new YamlFileError([`${name} can't be read (${errorMessage(error)}): is it the right file?`], {
      cause: error,
    });
  }
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
