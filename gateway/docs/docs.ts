import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import type { ApiDescription } from '../api-description.ts';
import { readApiDocument, type ApiDocument } from '../services/api-document.ts';
import { petsApi } from '../services/pets-service.ts';
import type { ApiRoute } from '../services/routes.ts';
import { codesOf, guideMarkdown } from './guide.ts';
import { escapeHtml, html } from './html.ts';
import type { KeySettings } from './key-form.ts';
import { renderPage, type Page } from './layout.ts';
import { renderMarkdown } from './markdown.ts';
import { referencePage, type ReferenceSettings } from './reference-page.ts';
import { sampleOrigin } from './samples.ts';
import { searchIndex } from './search-index.ts';

/** A page of the documentation, or a file that pages load. */
export interface DocsFile {
  text: string;
  contentType: string;
  /** Headers beside those of the text itself. They replace the gateway's own of the same name. */
  headers: Readonly<Record<string, string>>;
}

export interface Docs {
  /** Finds what is at a path without query. */
  find(path: string): DocsFile | undefined;
  /** Finds the route of a path, for Allow and for metrics. */
  match(path: string): ApiRoute | undefined;
  /** Error codes that they explain. */
  errorCodes: ReadonlySet<string>;
}

/** Scripts and styles of the gateway's own origin only. A page runs nothing that is written into it. */
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const pageHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'public, max-age=300',
  'Content-Security-Policy': pagePolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

const textHeaders: Readonly<Record<string, string>> = { 'Cache-Control': 'public, max-age=300' };

const descriptionPath = '/openapi.json';

/** The address of a file contains a hash of all files, so it never changes. */
const assetHeaders = {
  'Cache-Control': 'public, max-age=31536000, immutable',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** A file of another version of the gateway, as while instances are replaced: this version's own, for now. */
const otherVersionHeaders = { ...assetHeaders, 'Cache-Control': 'no-cache' };

const contentTypes = {
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ts': 'text/javascript; charset=utf-8',
};

/** What pages say of the API beside its description. */
interface DocsSettings extends KeySettings {
  /** Markdown of the guide; undefined for a general one. */
  guide: string | undefined;
  /** Markdown of further pages; undefined for none. */
  clients: string | undefined;
  changelog: string | undefined;
}

const allow = ['GET', 'HEAD', 'OPTIONS'];
const indexRoute: ApiRoute = { pattern: '/', allow };
const assetRoute: ApiRoute = { pattern: '/docs/assets/{version}/{file}', allow };
const assetPath = /\/assets\/([A-Za-z0-9_-]{1,32})\/([a-z-]{1,20}\.(?:css|svg|ts))$/;

interface Assets {
  /** Address of a file. */
  addressOf: (file: string) => string;
  find(path: string): DocsFile | undefined;
}

/** Files that pages load. @param base path below which they are */
function createAssets(base: string): Assets {
  const assets = loadAssets();
  const version = hashOf(Array.from(assets.values(), ({ source }) => source).join('\0'));
  return {
    addressOf: (file) => `${base}/assets/${version}/${file}`,
    find(path) {
      const [rest = '', wanted, name = ''] = assetPath.exec(path) ?? [];
      const asset = path === base + rest ? assets.get(name) : undefined;
      if (asset === undefined) return undefined;
      // Not at the start, which all scripts together would delay by a tenth of a second, and once: anybody may ask for it.
      asset.text ??= name.endsWith('.ts') ? stripTypeScriptTypes(asset.source) : asset.source;
      const { contentType, text } = asset;
      return { contentType, text, headers: wanted === version ? assetHeaders : otherVersionHeaders };
    },
  };
}

/**
 * Builds the public documentation: its pages from the description and from Markdown, and the files that they load.
 * @param publicUrl address in the samples; without it, a browser shows that of the page
 */
export function loadDocs(
  { document, basePath, operations }: Pick<ApiDescription, 'document' | 'basePath' | 'operations'>,
  publicUrl = sampleOrigin,
  settings: DocsSettings = petsApi(),
): Docs {
  const assets = createAssets('/docs');
  const { title: name, supportUrl } = document;
  const { clients, changelog } = settings;
  const sources = [
    markdownPage('/docs', 'Guide', guideMarkdown(document, { ...settings, basePath }), ['guide.ts']),
    referencePage(document, operations, {
      ...settings,
      path: '/docs/reference',
      descriptionPath,
      methods: html`Every path also supports <code>HEAD</code> where it supports <code>GET</code>, and
        <code>OPTIONS</code>.`,
      about: 'Keys, limits and errors in short',
      scopeHolder: 'A key with a list of scopes',
      scripts: ['reference.ts'],
    }),
    ...(clients === undefined ? [] : [markdownPage('/docs/clients', 'Clients', clients, ['guide.ts'])]),
    ...(changelog === undefined ? [] : [markdownPage('/docs/changelog', 'Changelog', changelog, [])]),
  ];
  const site = {
    name,
    supportUrl,
    asset: assets.addressOf,
    pages: sources,
    descriptionPath,
    scripts: ['search.ts'],
  };
  const withAddress = (text: string) => text.replaceAll(sampleOrigin, publicUrl);
  const pages = new Map([
    ...sources.flatMap((page) => [
      served(
        page.path,
        'text/html',
        renderPage(page, site).replaceAll(sampleOrigin, escapeHtml(publicUrl)),
        pageHeaders,
      ),
      served(`${page.path}.md`, 'text/markdown', withAddress(page.markdown)),
    ]),
    served('/docs/search.json', 'application/json', withAddress(JSON.stringify(searchIndex(sources)))),
    served('/llms.txt', 'text/plain', llmsText(document, sources)),
  ]);

  return {
    errorCodes: new Set(codesOf(document)),
    find: (path) => pages.get(path)?.file ?? assets.find(path),
    match(path) {
      if (path === indexRoute.pattern) return indexRoute;
      return assets.find(path) === undefined ? pages.get(path)?.route : assetRoute;
    },
  };
}

/**
 * Builds the page of an API for programs of operators, and the files that it loads. It sends no requests.
 * @param base path of the page
 */
export function loadReference(
  json: string,
  operations: ApiDescription['operations'],
  {
    base,
    ...settings
  }: { base: string } & Pick<ReferenceSettings, 'descriptionPath' | 'keyVariable' | 'scopeHolder'>,
): Pick<Docs, 'find'> {
  const document = readApiDocument(json, '');
  const assets = createAssets(base);
  const page = referencePage(document, operations, {
    ...settings,
    path: base,
    about: 'Tokens, limits and sessions in short',
    keyPrefix: undefined,
    scripts: ['samples-page.ts'],
  });
  const { title: name, supportUrl } = document;
  const site = { ...settings, name, supportUrl, asset: assets.addressOf, pages: [page], scripts: [] };
  const pages = new Map([
    served(base, 'text/html', renderPage(page, site), pageHeaders),
    served(`${base}.md`, 'text/markdown', page.markdown),
  ]);
  return { find: (path) => pages.get(path)?.file ?? assets.find(path) };
}

/** What is at a path. */
function served(
  path: string,
  contentType: string,
  text: string,
  headers = textHeaders,
): [path: string, { route: ApiRoute; file: DocsFile }] {
  const file = { text, contentType: `${contentType}; charset=utf-8`, headers };
  return [path, { route: { pattern: path, allow }, file }];
}

interface Asset {
  contentType: string;
  source: string;
  /** What is served, of a module without its types; undefined until somebody asks for it. */
  text?: string;
}

/** Files of browser/ by their names. */
function loadAssets(): Map<string, Asset> {
  const names = readdirSync(new URL('browser/', import.meta.url)).toSorted();
  return new Map(
    Object.entries(contentTypes).flatMap(([extension, contentType]) =>
      names
        .filter((name) => name.endsWith(extension))
        .map((name): [string, Asset] => [name, { contentType, source: read(`browser/${name}`) }]),
    ),
  );
}

/** @param markdown begins with the title of the page */
function markdownPage(path: string, title: string, markdown: string, scripts: string[]): Page {
  const { body, headings } = renderMarkdown(markdown);
  return { path, title, contents: headings.filter(({ level }) => level === 2), body, markdown, scripts };
}

/** Where language models find the documentation, in the form of llmstxt.org. */
function llmsText({ title, description }: ApiDocument, pages: readonly Page[]): string {
  const links = pages.map(({ title: text, path }) => `- [${text}](${path}.md)`);
  return `# ${title}

> ${description.trim().split('\n\n')[0]?.replaceAll('\n', ' ')}

## Documentation

${links.join('\n')}
- [OpenAPI description](/openapi.json)
`;
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}
