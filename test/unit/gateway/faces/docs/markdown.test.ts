import { expect, test } from 'vitest';
import { headingsOf, renderMarkdown } from '../../../../../gateway/faces/docs/markdown.ts';

test('HTML in Markdown is shown as text', () => {
  const body = renderMarkdown('a <img src=x onerror=alert(1)> b\n\n<script>alert(1)</script>\n\n`<b>`');
  expect(body.text).not.toMatch(/<(?:img|script|b)\b/);
  expect(body.text).toContain('&lt;script&gt;');
});

test('a heading has an anchor: its text, or the code that it begins with', () => {
  const headings = headingsOf('# A guide\n\n## 64-bit ids\n\n### `not_found` (404)\n');
  expect(headings).toEqual([
    { id: 'a-guide', level: 1, text: 'A guide', section: '# A guide\n\n' },
    { id: '64-bit-ids', level: 2, text: '64-bit ids', section: '## 64-bit ids\n\n' },
    { id: 'not_found', level: 3, text: 'not_found (404)', section: '### `not_found` (404)\n' },
  ]);
});

test('a list of fields is told from one of sentences, which has code anywhere', () => {
  const isOfFields = (markdown: string) => renderMarkdown(markdown).text.includes('<ul class="fields">');
  expect(isOfFields('- `200` ([Pet](#pet)): One.\n\n  `{}`\n- `404` (no body)')).toBe(true);
  expect(isOfFields('- `limit` is at most 100.\n- After a 429, wait for `Retry-After`.')).toBe(false);
});
