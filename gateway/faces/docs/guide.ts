import { readFileSync } from 'node:fs';
import { codesOf, type ApiDocument } from '../../upstream/api-document.ts';
import { headingsOf } from './markdown.ts';
import { createSamples } from './samples.ts';

export interface GuideSettings {
  keyPrefix: string;
  /** Environment variable that holds the API key in samples. */
  keyVariable: string;
  /** Guide of the API's own; undefined for a general one. */
  guide?: string | undefined;
  /** Base path of the gateway's own operations. */
  basePath: string;
  /** Header that may hold the key as well. */
  keyHeader?: string | undefined;
}

/**
 * The guide as Markdown. To one of the API's own, sections are added for the error codes that it leaves out, below a heading
 * of their own unless it ends with its section Errors: the `Link` header of each error leads to its code.
 */
export function guideMarkdown(document: ApiDocument, settings: GuideSettings): string {
  const generic = fillIn(document, settings);
  const [intro = '', ...sections] = generic.split(/^(?=### )/m);
  const guide = settings.guide ?? intro;
  const headings = headingsOf(guide);
  const known = new Set(headings.map(({ id }) => id));
  const added = [...sections, ...codesOf(document).map(sectionOfCode)].filter((section) => {
    const [, code = ''] = /^### `(\w+)`/.exec(section) ?? [];
    const isNew = !known.has(code);
    known.add(code);
    return isNew;
  });
  if (added.length === 0) return guide;
  const isOfErrors = headings.findLast(({ level }) => level === 2)?.id === 'errors';
  const heading = isOfErrors ? '' : '## Other errors\n\n';
  return `${guide.trimEnd()}\n\n${heading}${added.map((section) => section.trimEnd()).join('\n\n')}\n`;
}

function fillIn(
  { title, operations }: ApiDocument,
  { basePath, keyHeader, keyPrefix, keyVariable }: GuideSettings,
): string {
  const example = operations.find(({ method }) => method === 'GET');
  const [curl] = example === undefined ? [] : createSamples(example, keyVariable);
  const values: Record<string, string> = {
    title: title.replaceAll(/[\\`*_[\]<>#|]/g, String.raw`\$&`),
    keyPrefix,
    keyVariable,
    usagePath: `${basePath}/usage`,
    orKeyHeader: keyHeader === undefined ? '' : `, or alone in \`${keyHeader}\``,
    example: curl?.code ?? '',
  };
  const template = readFileSync(new URL('generic-guide.md', import.meta.url), 'utf8');
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_placeholder, name: string) => values[name] ?? '');
}

function sectionOfCode(code: string): string {
  return `### \`${code}\`

The message says what is wrong. The [reference](/docs/reference) shows which operations respond with it.`;
}
