import { Html, plainText } from './html.ts';
import type { Page } from './layout.ts';

/** A part of a page under its heading. The browser's search.ts has the same shape. */
export interface SearchedSection {
  page: string;
  title: string;
  /** Address of the heading. */
  path: string;
  text: string;
}

const heading = /<h([1-3])(?: id="([^"]+)")?>([^]*?)<\/h\1>/g;

/** What the search of the documentation looks through: all pages, split at their headings. */
export function searchIndex(pages: readonly Page[]): SearchedSection[] {
  return pages.flatMap(({ path, title: page, body: { text } }) => {
    // Without those such as "Parameters" of an operation: what is below belongs to the section.
    const headings = [...text.matchAll(heading)].filter(([, level, id]) => id !== undefined || level === '1');
    return headings.map((match, index) => {
      const [whole, , id, title = ''] = match;
      const content = text.slice(match.index + whole.length, headings[index + 1]?.index);
      const address = id === undefined ? path : `${path}#${id}`;
      return { page, title: textOf(title), path: address, text: textOf(content) };
    });
  });
}

const textOf = (text: string) =>
  // A space for each tag: elements are words of their own.
  plainText(new Html(text.replaceAll('<', ' <')))
    .replaceAll(/\s+/g, ' ')
    .trim();
