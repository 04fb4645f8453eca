import { pagePolicy, type BrowserFiles } from '../browser-files.ts';

/** A page whose content is made by its script. */
interface Shell {
  title: string;
  /** What the page knows before any request, by the names of `meta` elements. */
  facts: Readonly<Record<string, string>>;
  /** Name of the element that is the page. */
  element: string;
  withoutScript: string;
}

export const pageHeaders = {
  'Content-Security-Policy': pagePolicy.join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

export function renderShell({ addressOf }: BrowserFiles, shell: Shell): string {
  const { title, facts, element, withoutScript } = shell;
  const meta = { ...facts, viewport: 'width=device-width, initial-scale=1', 'color-scheme': 'light dark' };
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${escapeText(title)}</title>
    ${Object.entries(meta)
      .map(([name, content]) => `<meta name="${name}" content="${escapeText(content)}" />`)
      .join('\n    ')}
    <link rel="icon" href="${addressOf('icon.svg')}" type="image/svg+xml" />
    <link rel="stylesheet" href="${addressOf('main.css')}" />
    <script type="module" src="${addressOf('main.js')}"></script>
  </head>
  <body>
    <noscript><p class="no-script">${withoutScript}</p></noscript>
    <${element}></${element}>
  </body>
</html>
`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
