import type { RequestHandler } from 'express';
import { serveFiles } from '../../platform/http/response.ts';
import type { ApiDescription } from '../../upstream/api-description.ts';
import type { ApiDocument } from '../../upstream/api-document.ts';
import { petsApi } from '../../upstream/pets-service.ts';
import type { ApiRoute } from '../../upstream/routes.ts';
import { createBrowserFiles, pagePolicy, type BrowserFiles } from '../browser-files.ts';
import { escapeHtml } from '../html.ts';
import { pageHeaders } from '../page-document.ts';
import { guideMarkdown, type GuideSettings } from './guide.ts';
import { renderPage, searchPage, searchPath, sectionsOf, type Page } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { referencePage } from './reference-page.ts';
import { sampleOrigin } from './samples.ts';

/** A page of the documentation, as HTML or as Markdown. */
export interface DocsFile {
  text: string;
  contentType: string;
  /** Headers beside those of the text itself. They replace the gateway's own of the same name. */
  headers: Readonly<Record<string, string>>;
}

export interface Docs {
  /** Finds what is at a path without query. */
  find(path: string): DocsFile | undefined;
  /** The page with the sections that have all words of a text. */
  search(asked: string): DocsFile;
  /** Finds what pages load. */
  findAsset: BrowserFiles['find'];
  /** Finds the route of a path, for Allow and for metrics. */
  match(path: string): ApiRoute | undefined;
}

const documentHeaders: Readonly<Record<string, string>> = {
  ...pageHeaders,
  'Cache-Control': 'public, max-age=300',
  'Content-Security-Policy': [
    ...pagePolicy.filter((directive) => !directive.startsWith('form-action')),
    // The search.
    "form-action 'self'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const descriptionPath = '/openapi.json';
const browserFolder = 'faces/docs/browser';

/** What pages say of the API beside its description. */
interface DocsSettings extends Omit<GuideSettings, 'basePath'> {
  /** Markdown of further pages; undefined for none. */
  clients?: string | undefined;
  changelog?: string | undefined;
}

const allow = ['GET', 'HEAD', 'OPTIONS'];
const indexRoute: ApiRoute = { pattern: '/', allow };
const assetRoute: ApiRoute = { pattern: '/docs/assets/{version}/{file}', allow };

/**
 * Builds the public documentation: its pages from the description and from Markdown, and the files that they load.
 * @param publicUrl address in the samples; without it, a browser shows that of the page
 */
export function loadDocs(
  { document, basePath, operations }: Pick<ApiDescription, 'document' | 'basePath' | 'operations'>,
  publicUrl = sampleOrigin,
  settings: DocsSettings = petsApi(),
): Docs {
  const { clients, changelog } = settings;
  const site = createSite(
    document,
    [
      markdownPage('/docs', 'Guide', guideMarkdown(document, { ...settings, basePath })),
      referencePage(document, operations, settings),
      ...(clients === undefined ? [] : [markdownPage('/docs/clients', 'Clients', clients)]),
      ...(changelog === undefined ? [] : [markdownPage('/docs/changelog', 'Changelog', changelog)]),
    ],
    publicUrl,
  );
  return {
    ...site,
    match(path) {
      if (path === indexRoute.pattern) return indexRoute;
      if (site.findAsset(path) !== undefined) return assetRoute;
      return path === searchPath || site.find(path) !== undefined ? { pattern: path, allow } : undefined;
    },
  };
}

/** Far more than anybody types into a search. */
const maxAskedLength = 100;

/** Serves the documentation, and at / a redirect for browsers and an index for programs. */
export function serveDocs(
  { find, search, findAsset, match }: Docs,
  { basePath }: Pick<ApiDescription, 'basePath'>,
): { match: Docs['match']; serve: RequestHandler } {
  const index = { documentation: '/docs', description: descriptionPath, api: basePath };
  const files = serveFiles((path, { q = '' }) =>
    path === searchPath ? search(String(q).slice(0, maxAskedLength)) : (find(path) ?? findAsset(path)),
  );
  return {
    match: (path) => match(path) ?? (path.endsWith('/') ? match(path.slice(0, -1)) : undefined),
    serve: (req, res, next) => {
      const { path } = req;
      if (!path.endsWith('/')) return files(req, res, next);
      if (path !== '/') {
        res.status(308).location(path.slice(0, -1)).end();
      } else {
        res.set({ 'Cache-Control': 'public, max-age=300', Vary: 'Accept' });
        // JSON is first: a program that accepts anything gets it.
        if (req.accepts(['json', 'html']) === 'html') res.status(302).location('/docs').end();
        else res.json(index);
      }
      return undefined;
    },
  };
}

/** Serves pages, each also as Markdown, and lists them for language models in the form of llmstxt.org. */
function createSite(
  { title, description, supportUrl }: ApiDocument,
  pages: readonly Page[],
  publicUrl: string,
): Pick<Docs, 'find' | 'findAsset' | 'search'> {
  const assets = createBrowserFiles('/docs/assets', browserFolder);
  const sections = sectionsOf(pages);
  const links = pages.map((page) => `- [${page.title}](${page.path}.md)`);
  const index = `# ${title}

> ${description.trim().split('\n\n')[0]?.replaceAll('\n', ' ')}

## Documentation

${links.join('\n')}
- [OpenAPI description](${descriptionPath})
`;
  const files: Record<string, DocsFile> = { '/llms.txt': textFile('text/plain', index) };
  const pageFile = (page: Page): DocsFile => {
    const text = renderPage(page, { name: title, supportUrl, files: assets, pages });
    return {
      ...textFile('text/html', text.replaceAll(sampleOrigin, escapeHtml(publicUrl))),
      headers: documentHeaders,
    };
  };
  for (const page of pages) {
    const { path, markdown = '' } = page;
    files[path] = pageFile(page);
    files[`${path}.md`] = textFile('text/markdown', markdown.replaceAll(sampleOrigin, publicUrl));
  }
  return {
    find: (path) => (Object.hasOwn(files, path) ? files[path] : undefined),
    search: (asked) => pageFile(searchPage(sections, asked)),
    findAsset: assets.find,
  };
}

const textFile = (contentType: string, text: string): DocsFile => ({
  text,
  contentType: `${contentType}; charset=utf-8`,
  headers: { 'Cache-Control': 'public, max-age=300' },
});

/** @param markdown begins with the title of the page */
const markdownPage = (path: string, title: string, markdown: string): Page => ({
  path,
  title,
  body: renderMarkdown(markdown),
  markdown,
});
