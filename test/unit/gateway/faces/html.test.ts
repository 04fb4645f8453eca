import { expect, test } from 'vitest';
import { html } from '../../../../gateway/faces/html.ts';

test('a value is escaped, wherever it stands', () => {
  const value = `"><script>alert('&')</script>`;
  const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;';
  expect(html`<p title="${value}">${value}</p>`.text).toBe(`<p title="${escaped}">${escaped}</p>`);
});

test('HTML, a list of it, numbers and undefined are values, too', () => {
  expect(html`${html`<b>1</b>`}${[html`<i>2</i>`, html`<i>3</i>`]}${4}${undefined}`.text).toBe(
    '<b>1</b><i>2</i><i>3</i>4',
  );
});
