import { Router } from 'express';
import { serveFiles } from '../../platform/http/response.ts';
import { createBrowserFiles } from '../browser-files.ts';
import { html } from '../html.ts';
import { pageHeaders, renderDocument } from '../page-document.ts';

export interface PortalLook {
  title: string;
  /** As #rrggbb. */
  color: string;
  supportUrl: string | undefined;
}

/** Serves the page of the portal, with the files that it loads. */
export function portalPages(look: PortalLook): Router {
  const { title, supportUrl = '' } = look;
  const files = createBrowserFiles('/portal/assets', 'faces/portal/browser', themeOf(look));
  const page = renderDocument(files, {
    title,
    facts: { 'application-name': title, 'support-url': supportUrl },
    body: html`<portal-app></portal-app> <noscript>This page needs JavaScript.</noscript>`,
  });
  const router = Router();
  router.use('/portal/assets', serveFiles(files.find), (_req, res) => {
    res.sendStatus(404);
  });
  router.get('/portal', (_req, res) => {
    res.set(pageHeaders).set('Cache-Control', 'no-cache').type('html').send(page);
  });
  return router;
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
