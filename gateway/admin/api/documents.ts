import { readFile } from 'node:fs/promises';
import { Marked, type Tokens } from 'marked';
import { z } from 'zod';
import { ApiError } from './api-error.ts';
import { route } from './route.ts';

/** Documents for operators, by their names in addresses. */
export const documents = {
  alerts: new URL('../../observability/ALERTS.md', import.meta.url),
  runbook: new URL('../../ops/RUNBOOK.md', import.meta.url),
  operations: new URL('../../OPERATIONS.md', import.meta.url),
  manual: new URL('../../ops/MANUAL.md', import.meta.url),
  redis: new URL('../../ops/REDIS.md', import.meta.url),
};

const names = z.enum(['alerts', 'runbook', 'operations', 'manual', 'redis']);

/** Where a link in a document leads: to another one that the console has. Other files have none. */
function targetOf(href: string, document: URL): string | undefined {
  if (href.startsWith('https:')) return href;
  const { pathname, hash } = new URL(href, document);
  const [name] = Object.entries(documents).find(([, url]) => url.pathname === pathname) ?? [];
  return name === undefined ? undefined : `/console/documents/${name}${hash}`;
}

/** Renders a document of the project itself. HTML in it is shown as text. */
export function renderDocument(markdown: string, document: URL): string {
  const marked = new Marked({
    renderer: {
      html: ({ text }) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        const target = targetOf(href, document);
        return target === undefined ? text : `<a href="${target.replaceAll('"', '%22')}">${text}</a>`;
      },
      table({ header, rows }: Tokens.Table) {
        const lines = [header, ...rows].map(
          (cells) => `<tr>${cells.map((cell) => this.tablecell(cell)).join('')}</tr>`,
        );
        const [headings = '', ...others] = lines;
        // A wide table scrolls by itself, and needs the focus for that.
        return `<div class="document-table" tabindex="0" role="group" aria-label="Table"><table><thead>${headings}</thead><tbody>${others.join('')}</tbody></table></div>\n`;
      },
    },
  });
  return marked.parse(markdown, { async: false });
}

/** Documents that come with the gateway, to which problems and alerts refer. */
export const documentsRoutes = [
  route.get('/documents', {
    operationId: 'getDocument',
    noun: null,
    summary: 'A document for operators that comes with this version of the gateway',
    input: z.strictObject({ name: names }),
    responds: 'The document as HTML',
    result: z.object({ html: z.string() }),
    async handle({ input: { name } }) {
      const document = documents[name];
      const markdown = await readFile(document, 'utf8').catch(() => {
        throw new ApiError('not_found', { message: 'This installation of the gateway lacks the document.' });
      });
      return { html: renderDocument(markdown, document) };
    },
  }),
];
