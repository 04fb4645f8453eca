interface Shell {
  /** Path of all files. */
  base: string;
  /** JSON. */
  importMap: string;
  /** Paths of own styles, below gateway/. */
  styles: readonly string[];
  settings: PageSettings;
}

/** What the pages of a gateway say of its API. */
export interface PageSettings {
  /** Such as Animal store gateway. */
  productName: string;
  keyPrefix: string;
  /** Address of a request that any key may make, for samples. */
  sampleUrl: () => string;
}

/** The page of the console. Everything in it is made by modules; which page of the console to show is in its path. */
export function renderShell({ base, importMap, styles, settings }: Shell): string {
  const name = escapeText(settings.productName);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Console – ${name}</title>
    <meta name="application-name" content="${name}" />
    <meta name="key-prefix" content="${settings.keyPrefix}" />
    <meta name="sample-url" content="${escapeText(settings.sampleUrl())}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="${base}/browser/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="${base}/webawesome/styles/webawesome.css" />
    <link rel="stylesheet" href="${base}/uplot/uPlot.min.css" />
    ${styles.map((name) => `<link rel="stylesheet" href="${base}/${name}" />`).join('\n    ')}
    <script src="${base}/browser/theme.ts"></script>
    <script type="importmap">${importMap}</script>
    <script type="module" src="${base}/admin/console/browser/main.ts"></script>
  </head>
  <body>
    <noscript><p class="no-script">The console needs JavaScript. The command does the same: npm run ops -- --help</p></noscript>
    <console-app></console-app>
  </body>
</html>
`;
}

export function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
