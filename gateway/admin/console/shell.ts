import type { BrowserModules } from './browser-modules.ts';

/** A page whose content is made by modules. */
interface Shell {
  title: string;
  /** What the page knows before any request, by the names of `meta` elements. */
  facts: Readonly<Record<string, string>>;
  /** Paths of styles below that of all files, in their order. */
  styles: readonly string[];
  /** Path of the module that makes the page. */
  main: string;
  /** Name of the element that is the page. */
  element: string;
  withoutScript: string;
}

export function renderShell({ base, importMap }: BrowserModules, shell: Shell): string {
  const { title, facts, styles, main, element, withoutScript } = shell;
  const meta = { ...facts, viewport: 'width=device-width, initial-scale=1', 'color-scheme': 'light dark' };
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${escapeText(title)}</title>
    ${Object.entries(meta)
      .map(([name, content]) => `<meta name="${name}" content="${escapeText(content)}" />`)
      .join('\n    ')}
    <link rel="icon" href="${base}/browser/icon.svg" type="image/svg+xml" />
    ${styles.map((name) => `<link rel="stylesheet" href="${base}/${name}" />`).join('\n    ')}
    <script src="${base}/browser/theme.ts"></script>
    <script type="importmap">${importMap}</script>
    <script type="module" src="${base}/${main}"></script>
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
