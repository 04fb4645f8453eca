import type { Request, RequestHandler } from 'express';
import type { PublicAddress } from '../../platform/http/addresses.ts';
import { serveFiles } from '../../platform/http/response.ts';
import type { ApiDescription } from '../../upstream/api-description.ts';
import { petsApi } from '../../upstream/pets-service.ts';
import type { ApiRoute } from '../../upstream/routes.ts';
import { createBrowserFiles, pagePolicy } from '../browser-files.ts';
import { escapeHtml } from '../html.ts';
import { pageHeaders } from '../page-document.ts';
import { guideMarkdown, type GuideSettings } from './guide.ts';
import { renderPage, searchPage, searchPath, sectionsOf, type Page } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { referencePage } from './reference-page.ts';
import { sampleOrigin } from './samples.ts';

/** A page of the documentation, as HTML or as Markdown. */
interface DocsFile {
  text: string;
  contentType: string;
  /** Headers beside those of the text itself. They replace the gateway's own of the same name. */
  headers: Readonly<Record<string, string>>;
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
/** What pages say of the API beside its description. */
interface DocsSettings extends Omit<GuideSettings, 'basePath'> {
  /** Markdown of further pages; undefined for none. */
  clients?: string | undefined;
  changelog?: string | undefined;
}

const allow = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Builds the public documentation: its pages from the description and from Markdown, each also as Markdown, the files that they
 * load, and a list of them for language models in the form of llmstxt.org.
 * @param publicUrl address in the samples; without it, a browser shows that of the page, and Markdown has that of the request
 */
export function loadDocs(
  { document, basePath, operations }: Pick<ApiDescription, 'document' | 'basePath' | 'operations'>,
  publicUrl = sampleOrigin,
  settings: DocsSettings = petsApi(),
) {
  const { title, description, supportUrl } = document;
  const { clients, changelog } = settings;
  const pages: readonly Page[] = [
    markdownPage('/docs', 'Guide', guideMarkdown(document, { ...settings, basePath })),
    referencePage(document, operations, settings),
    ...(clients === undefined ? [] : [markdownPage('/docs/clients', 'Clients', clients)]),
    ...(changelog === undefined ? [] : [markdownPage('/docs/changelog', 'Changelog', changelog)]),
  ];
  const assets = createBrowserFiles('/docs/assets', 'faces/docs/browser');
  const sections = sectionsOf(pages);
  const links = pages.map((page) => `- [${page.title}](${page.path}.md)`);
  const index = `# ${title}

> ${description.trim().split('\n\n')[0]?.replaceAll('\n', ' ')}

## Documentation

${links.join('\n')}
- [OpenAPI description](${descriptionPath})
`;
  const pageFile = (page: Page): DocsFile => {
    const text = renderPage(page, { name: title, supportUrl, files: assets, pages });
    return {
      ...textFile('text/html', text.replaceAll(sampleOrigin, escapeHtml(publicUrl))),
      headers: documentHeaders,
    };
  };
  const files = new Map([['/llms.txt', textFile('text/plain', index)]]);
  for (const page of pages) {
    const { path, markdown = '' } = page;
    files.set(path, pageFile(page));
    files.set(`${path}.md`, textFile('text/markdown', markdown.replaceAll(sampleOrigin, publicUrl)));
  }
  return {
    /** Finds what is at a path without query. */
    find: (path: string) => files.get(path),
    /** The page with the sections that have all words of a text. */
    search: (asked: string) => pageFile(searchPage(sections, asked)),
    /** Finds what pages load. */
    findAsset: assets.find,
    /** Finds the route of a path, for Allow and for metrics. */
    match(path: string): ApiRoute | undefined {
      if (assets.find(path) !== undefined) return { pattern: '/docs/assets/{version}/{file}', allow };
      return ['/', searchPath].includes(path) || files.has(path) ? { pattern: path, allow } : undefined;
    },
  };
}

/** Far more than anybody types into a search. */
const maxAskedLength = 100;

/** Serves the documentation, and at / a redirect for browsers and an index for programs. */
export function serveDocs(
  { find, search, findAsset, match }: ReturnType<typeof loadDocs>,
  { basePath }: Pick<ApiDescription, 'basePath'>,
  publicAddress: PublicAddress,
) {
  const index = { documentation: '/docs', description: descriptionPath, api: basePath };
  const files = serveFiles((path, { q = '' }, req) =>
    path === searchPath
      ? search(String(q).slice(0, maxAskedLength))
      : (findFor(path, req) ?? findAsset(path)),
  );
  function findFor(path: string, req: Request) {
    const file = find(path);
    const origin = path.endsWith('.md') && publicAddress.fixed === undefined && publicAddress.baseUrl(req);
    if (file === undefined || !origin) return file;
    // A shared cache could give one client what another one's headers have made.
    const headers = { 'Cache-Control': 'private, max-age=300' };
    return { ...file, text: file.text.replaceAll(sampleOrigin, origin), headers };
  }
  return {
    match: (path: string) => match(path) ?? (path.endsWith('/') ? match(path.slice(0, -1)) : undefined),
    serve: ((req, res, next) => {
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
    }) satisfies RequestHandler,
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
