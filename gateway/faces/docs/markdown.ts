import { Marked, type Tokens } from 'marked';
import { escapeHtml, html, Html } from './html.ts';

/** A heading of a document, for its table of contents. */
export interface Heading {
  id: string;
  /** 1 for the title. */
  level: number;
  text: string;
}

export interface RenderedMarkdown {
  body: Html;
  headings: Heading[];
}

/**
 * Renders Markdown of the project itself: HTML in it is shown as text. The id of a heading is its text in lower case with
 * hyphens; a heading that begins with code, such as an error code, has the code as its id.
 */
export function renderMarkdown(markdown: string): RenderedMarkdown {
  const headings: Heading[] = [];
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth, text }: Tokens.Heading) {
        const id = idOf(text);
        headings.push({ id, level: depth, text: text.replaceAll('`', '') });
        return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`;
      },
      html: ({ text }) => escapeHtml(text),
      table(token: Tokens.Table) {
        const rows = token.rows.map((row) => `<tr>${row.map((cell) => this.tablecell(cell)).join('')}</tr>`);
        const header = token.header.map((cell) => this.tablecell(cell)).join('');
        // A wide table scrolls by itself, and needs the focus for that.
        return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${header}</tr></thead><tbody>${rows.join('')}</tbody></table></div>\n`;
      },
      code: ({ text }) => codeBlock(text).text,
    },
  });
  const body = new Html(marked.parse(markdown, { async: false }));
  return { body, headings };
}

/** A block of code. Its long lines wrap, so that it needs no scrolling. */
export function codeBlock(code: string): Html {
  return html`<div class="code">
    <pre><code>${code}</code></pre>
  </div> `;
}

function idOf(heading: string): string {
  const [, code] = /^`(\w+)`/.exec(heading) ?? [];
  if (code !== undefined) return code;
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}
