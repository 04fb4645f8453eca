import { Marked, type Token, type Tokens } from 'marked';
import { escapeHtml, html, Html } from '../html.ts';

const marked = new Marked({
  renderer: {
    heading({ tokens, depth, text }: Tokens.Heading) {
      const id = headingId(text);
      return `<h${depth} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(tokens)}</a></h${depth}>\n`;
    },
    html: ({ text }) => escapeHtml(text),
    table(token: Tokens.Table) {
      const rows = token.rows.map((row) => `<tr>${row.map((cell) => this.tablecell(cell)).join('')}</tr>`);
      const header = token.header.map((cell) => this.tablecell(cell)).join('');
      // A wide table scrolls by itself, and needs the focus for that.
      return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${header}</tr></thead><tbody>${rows.join('')}</tbody></table></div>\n`;
    },
    list(token: Tokens.List) {
      // Parameters, statuses, headers and properties in the reference: each item begins with a name and its type.
      if (!token.items.every(({ text }) => /^`[^`]+` \(/.test(text))) return false;
      return `<ul class="fields">${token.items.map((item) => this.listitem(item)).join('')}</ul>\n`;
    },
    code: ({ text }) => codeBlock(text).text,
  },
});

/** Anchor of a heading: its text in lower case with hyphens, or the code that it begins with, such as an error code. */
export function headingId(heading: string): string {
  const [, code] = /^`(\w+)`/.exec(heading) ?? [];
  if (code !== undefined) return code;
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');
}

/** Renders Markdown of the project itself: HTML in it is shown as text. */
export const renderMarkdown = (markdown: string) => new Html(marked.parse(markdown, { async: false }));

/** The headings of a document, in their order, each with the Markdown from it to the next one. */
export function headingsOf(markdown: string) {
  const headings: { id: string; level: number; text: string; section: string }[] = [];
  for (const token of marked.lexer(markdown)) {
    if (isHeading(token)) {
      const { depth: level, text } = token;
      headings.push({ id: headingId(text), level, text: text.replaceAll('`', ''), section: '' });
    }
    const last = headings.at(-1);
    if (last !== undefined) last.section += token.raw;
  }
  return headings;
}

const isHeading = (token: Token): token is Tokens.Heading => token.type === 'heading';

/** A block of code. Its long lines scroll sideways, also with the keyboard. */
export function codeBlock(code: string): Html {
  return html`<div class="code">
    <pre tabindex="0"><code>${code}</code></pre>
  </div> `;
}
