import { Router } from 'express';
import { createBrowserModules } from '../admin/console/browser-modules.ts';
import { escapeText } from '../admin/console/shell.ts';

export interface PortalLook {
  title: string;
  /** As #rrggbb. */
  color: string;
  supportUrl: string | undefined;
  keyPrefix: string;
}

/** Modules of the documentation and of the server that the page loads, too. */
const otherModules = [
  ...[
    'api-key.ts',
    'api-request.ts',
    'elements.ts',
    'format-json.ts',
    'key-format.ts',
    'local-time.ts',
    'usage-chart.css',
    'usage-chart.ts',
    'usage-facts.ts',
  ].map((name) => `docs/browser/${name}`),
  'limits/utc-day.ts',
  'limits/windows.ts',
];

/** Serves the page of the portal, with the modules and styles that it loads. */
export function portalPages(look: PortalLook): Router {
  const {
    base,
    importMap,
    headers,
    router: assets,
  } = createBrowserModules({
    path: '/portal/assets',
    folders: ['browser', 'portal/browser'],
    modules: otherModules,
    texts: { 'portal/theme.css': themeOf(look) },
  });
  const page = renderPage(look, base, importMap);
  const router = Router();
  router.use(assets);
  router.get('/portal', (_req, res) => {
    res.set(headers).set('Cache-Control', 'no-cache').type('html').send(page);
  });
  return router;
}

function renderPage({ title, supportUrl, keyPrefix }: PortalLook, base: string, importMap: string): string {
  const name = escapeText(title);
  const style = (file: string) => `<link rel="stylesheet" href="${base}/${file}" />`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>${name}</title>
    <meta name="application-name" content="${name}" />
    <meta name="key-prefix" content="${keyPrefix}" />
    <meta name="support-url" content="${escapeText(supportUrl ?? '')}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="${base}/browser/icon.svg" type="image/svg+xml" />
    ${[
      'webawesome/styles/webawesome.css',
      'browser/styles/base.css',
      'browser/styles/customers.css',
      'browser/styles/forms.css',
      'docs/browser/usage-chart.css',
      'portal/browser/portal.css',
      'portal/theme.css',
    ]
      .map(style)
      .join('\n    ')}
    <script src="${base}/browser/theme.ts"></script>
    <script type="importmap">${importMap}</script>
    <script type="module" src="${base}/portal/browser/main.ts"></script>
  </head>
  <body>
    <noscript><p class="no-script">This page needs JavaScript.</p></noscript>
    <portal-app></portal-app>
  </body>
</html>
`;
}

/** The colour, and the text that can be read on it. */
function themeOf({ color }: PortalLook): string {
  return `:root { --portal-color: ${color}; --portal-text: ${isLight(color) ? '#000000' : '#ffffff'}; }\n`;
}

/** Whether black has more contrast than white on a colour (WCAG 2.2, relative luminance). @param color as #rrggbb */
export function isLight(color: string): boolean {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((start) => {
    const share = Number.parseInt(color.slice(start, start + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05);
}
