import type { BrowserFiles } from '../browser-files.ts';
import { html, type Html } from '../html.ts';
import { renderDocument } from '../page-document.ts';
import { headingsOf } from './markdown.ts';

/** A page of the documentation. */
export interface Page {
  /** Path of the page, such as /docs. */
  path: string;
  title: string;
  body: Html;
  /** The same as Markdown, for programs. */
  markdown?: string;
}

interface Site {
  /** Name of the API. */
  name: string;
  /** Where clients find help. */
  supportUrl: string | undefined;
  files: Pick<BrowserFiles, 'addressOf'>;
  /** All pages, in the order of the navigation; the first is that of the name. */
  pages: readonly Pick<Page, 'path' | 'title'>[];
}

export const searchPath = '/docs/search';

/** What is searched, once for all searches: anybody may send them, and to read the pages takes 10 ms. */
export const sectionsOf = (pages: readonly Page[]) =>
  pages.flatMap(({ path, title, markdown = '' }) =>
    headingsOf(markdown).map(({ id, text, section }) => ({
      link: html`<li><a href="${path}#${id}">${text}</a> ${title}</li>`,
      heading: text.toLowerCase(),
      text: section.toLowerCase(),
    })),
  );

/** The page with the sections that have all words of a text; those with more of them in the heading come first. */
export function searchPage(sections: ReturnType<typeof sectionsOf>, asked: string): Page {
  const words = asked.toLowerCase().split(/\s+/).filter(Boolean);
  const numberIn = (text: string) => words.filter((word) => text.includes(word)).length;
  const found = sections
    .filter(({ text }) => words.length > 0 && numberIn(text) === words.length)
    .toSorted((one, other) => numberIn(other.heading) - numberIn(one.heading));
  const body = html`<h1>Search</h1>
    <p>${found.length === 0 ? 'Nothing found' : `${found.length} found`}: ${asked}</p>
    <ul>
      ${found.map(({ link }) => link)}
    </ul>`;
  return { path: searchPath, title: 'Search', body };
}

/** Puts a page into the frame that all pages share. It is complete without scripts; they add what is interactive. */
export function renderPage(page: Page, { name, supportUrl, files, pages }: Site): string {
  const links = pages.map(
    ({ path, title }) =>
      html`<li>
        <a href="${path}" ${path === page.path ? html` aria-current="page"` : undefined}>${title}</a>
      </li>`,
  );
  const body = html`<a class="skip" href="#main">Skip to the content</a>
    <header class="page-header row">
      <p class="name"><a href="${pages[0]?.path}">${name}</a></p>
      <nav class="tabs" aria-label="Documentation">
        <ul class="row">
          ${links}
        </ul>
      </nav>
      <form role="search" action="${searchPath}">
        <input type="search" name="q" aria-label="Search the documentation" placeholder="Search" required />
      </form>
    </header>
    <div class="columns">
      ${tableOfContents(page.markdown ?? '')}
      <main id="main" tabindex="-1">${page.body}</main>
    </div>
    ${
      supportUrl === undefined
        ? undefined
        : html`<footer>
            <p><a href="${supportUrl}">Support</a></p>
          </footer>`
    }`;
  const markdown = page.markdown === undefined ? {} : { markdown: `${page.path}.md` };
  return renderDocument(files, { title: `${page.title} – ${name}`, ...markdown, body });
}

function tableOfContents(markdown: string): Html | undefined {
  const contents = headingsOf(markdown).filter(({ level }) => level === 2);
  if (contents.length === 0) return undefined;
  const links = contents.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`);
  return html`<nav class="contents" aria-label="On this page">
    <ul>
      ${links}
    </ul>
  </nav>`;
}
