import { pagePolicy, type BrowserFiles } from './browser-files.ts';
import { html, type Html } from './html.ts';

interface Document {
  title: string;
  /** What the page knows before any request, by the names of `meta` elements. */
  facts?: Readonly<Record<string, string>>;
  /** Address of the same as Markdown. */
  markdown?: string;
  body: Html;
}

export const pageHeaders = {
  'Content-Security-Policy': pagePolicy.join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

/** A page of any face, which loads the files of that face. */
export function renderDocument(
  { addressOf }: Pick<BrowserFiles, 'addressOf'>,
  { title, facts, markdown, body }: Document,
) {
  const meta = { ...facts, viewport: 'width=device-width, initial-scale=1', 'color-scheme': 'light dark' };
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title}</title>
        ${Object.entries(meta).map(([name, content]) => html`<meta name="${name}" content="${content}" />`)}
        <link rel="icon" href="${addressOf('icon.svg')}" type="image/svg+xml" />
        ${markdown === undefined ? undefined : html`<link rel="alternate" href="${markdown}" type="text/markdown" />`}
        <link rel="stylesheet" href="${addressOf('main.css')}" />
        <script type="module" src="${addressOf('main.js')}"></script>
      </head>
      <body>
        ${body}
      </body>
    </html> `.text;
}
