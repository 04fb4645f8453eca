import { isUtf8 } from 'node:buffer';
import {
  isAlias,
  isMap,
  isNode,
  isScalar,
  LineCounter,
  parseDocument,
  visit,
  type Document,
  type YAMLMap,
} from 'yaml';

/** A YAML file that is invalid. Each issue names file, line and column. */
export class YamlFileError extends Error {
  override name = 'YamlFileError';
  readonly issues: readonly string[];

  constructor(issues: readonly string[], options?: ErrorOptions) {
    super(listIssues(issues), options);
    this.issues = issues;
  }
}

export interface YamlIssue {
  /** Fields that lead to what is wrong. */
  path: readonly PropertyKey[];
  text: string;
}

export interface YamlFile {
  /** What the file holds, with its fields in their order; null if it is empty. */
  value: unknown;
  /** Describes issues in the order of the file, each with its place, such as `plans.yaml:3:5: …`. */
  describe(issues: readonly YamlIssue[]): string[];
}

interface YamlFileOptions {
  maxBytes: number;
  /** Whether the file may hold aliases. They could make a small file a huge one. */
  aliases?: boolean;
  /** Reads integers as BigInt: limits of 64-bit integers are beyond the exact range of numbers. */
  intAsBigInt?: boolean;
}

/**
 * Reads YAML in which each issue has a place.
 * @param name what the messages call the file
 * @throws YamlFileError if it is no YAML, or has what YAML allows and this project does not
 */
export function readYamlFile(
  bytes: Uint8Array,
  name: string,
  { maxBytes, aliases = false, intAsBigInt = false }: YamlFileOptions,
): YamlFile {
  if (bytes.length > maxBytes) {
    throw new YamlFileError([`${name} has more than ${maxBytes} bytes: is it the right file?`]);
  }
  const text = decode(bytes, name);
  const lines = new LineCounter();
  const doc = parseYaml(text, lines, name, intAsBigInt);
  const describeAt = (issues: readonly OffsetIssue[]) => {
    const inOrder = issues.toSorted((one, other) => one.offset - other.offset);
    return inOrder.map(({ offset, text: problem }) => {
      const { line, col } = lines.linePos(offset);
      return `${name}:${Math.max(1, line)}:${Math.max(1, col)}: ${problem}`;
    });
  };
  const syntax = syntaxIssues(doc, lines, aliases);
  if (syntax.length > 0) throw new YamlFileError(describeAt(syntax));
  return {
    value: toValue(doc, name),
    describe(issues) {
      return describeAt(
        issues.map(({ path, text: problem }) => ({ offset: offsetOf(doc, path.map(String)), text: problem })),
      );
    },
  };
}

const maxIssues = 10;

/** Of many issues, the first ones say enough. */
function listIssues(issues: readonly string[]): string {
  const texts = new Set(issues);
  const rest = texts.size > maxIssues ? [`and ${texts.size - maxIssues} more`] : [];
  return [...Array.from(texts).slice(0, maxIssues), ...rest].join('; ');
}

interface OffsetIssue {
  /** Offset in the text. */
  offset: number;
  text: string;
}

/** @throws YamlFileError if it is not UTF-8 */
function decode(bytes: Uint8Array, name: string): string {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    return decoder.decode(bytes);
  } catch {
    const lines = Buffer.from(bytes).toString('latin1').split('\n');
    const line = lines.findIndex((text) => !isUtf8(Buffer.from(text, 'latin1')));
    throw new YamlFileError([`${name}:${line + 1}: the file is not UTF-8: save it with this encoding`]);
  }
}

/** @throws YamlFileError if it is nested more deeply than the parser, which is recursive, can follow */
function parseYaml(text: string, lineCounter: LineCounter, name: string, intAsBigInt: boolean): Document {
  const tooDeep = new YamlFileError([`${name} is nested too deeply: is it the right file?`]);
  try {
    // The parser's own search for duplicates takes the square of the number of names; see syntaxIssues.
    const options = { lineCounter, prettyErrors: false, uniqueKeys: false, intAsBigInt };
    const doc = parseDocument(text, options);
    // The parser catches some of its overflows and adds them to the errors of the file.
    if (doc.errors.some(({ message }) => /call stack|stack overflow/i.test(message))) throw tooDeep;
    return doc;
  } catch (error) {
    throw error instanceof RangeError ? tooDeep : error;
  }
}

/** What is no YAML, and what YAML allows but these files do not. */
function syntaxIssues(doc: Document, lines: LineCounter, aliases: boolean): OffsetIssue[] {
  const issues = [...doc.errors, ...doc.warnings].map(({ pos, code, message }) => ({
    offset: pos[0],
    text: code === 'MULTIPLE_DOCS' ? 'the file has more than one document' : message,
  }));
  if (issues.length > 0) return issues;
  const anchors = new Map<string, unknown>();
  visit(doc, (_key, node, ancestors) => {
    if (isAlias(node)) {
      const text = aliases ? aliasIssue(node.source, anchors, ancestors) : unsupportedAlias(node.source);
      if (text !== undefined) issues.push({ offset: node.range?.[0] ?? 0, text });
    } else if (isNode(node) && node.anchor !== undefined) anchors.set(node.anchor, node);
    if (isMap(node)) issues.push(...nameIssues(node, lines));
  });
  return issues;
}

const unsupportedAlias = (source: string) =>
  `aliases such as *${source} are not supported: write the value out`;

function aliasIssue(
  source: string,
  anchors: ReadonlyMap<string, unknown>,
  ancestors: readonly unknown[],
): string | undefined {
  if (!anchors.has(source)) return `*${source} has no &${source} before it`;
  return ancestors.includes(anchors.get(source))
    ? `*${source} is inside of &${source}, which would have no end`
    : undefined;
}

function nameIssues({ items }: YAMLMap, lines: LineCounter): OffsetIssue[] {
  const issues: OffsetIssue[] = [];
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
  return issues;
}

/** @throws YamlFileError if its aliases would make it many times as large */
function toValue(doc: Document, name: string): unknown {
  try {
    return doc.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new YamlFileError([`${name} has too many aliases of aliases: write their values out`]);
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
