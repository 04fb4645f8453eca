import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { loadDocs } from '../../../../../gateway/faces/docs/docs.ts';
import { headingId, headingsOf } from '../../../../../gateway/faces/docs/markdown.ts';
import { loadApiDescription } from '../../../../../gateway/upstream/api-description.ts';

const api = loadApiDescription();
const docs = loadDocs(api);
const paths = ['/docs', '/docs/reference', '/docs/clients', '/docs/changelog'];
const textAt = (path: string) => docs.find(path)?.text ?? '';
const idsOf = (html: string) => Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id = '']) => id);
const addressesOf = (html: string) =>
  Array.from(html.matchAll(/ (?:href|src)="([^"]+)"/g), ([, address = '']) => address);

test('support is where the operator says, and nowhere else', () => {
  const contactAt = (supportUrl?: string) => {
    const described = loadApiDescription(supportUrl);
    const { info } = JSON.parse(described.json) as { info: { contact: object } };
    return { contact: info.contact, page: loadDocs(described).find('/docs/reference')?.text ?? '' };
  };
  const name = 'Support of the Animal Store API';
  const mail = contactAt('mailto:help@example.org');
  expect(mail.contact).toEqual({ name, email: 'help@example.org' });
  expect(mail.page).toContain('<a href="mailto:help@example.org">Support</a>');
  const page = contactAt('https://example.org/help?a=1&b=2');
  expect(page.contact).toEqual({ name, url: 'https://example.org/help?a=1&b=2' });
  expect(page.page).toContain('<a href="https://example.org/help?a=1&amp;b=2">Support</a>');
  const none = contactAt();
  expect(none.contact).toEqual({ name });
  expect(none.page).not.toContain('Support');
});

test.each(paths)('%s has the public address, without a script, and no other', (path) => {
  const text = loadDocs(api, 'https://api.example.org').find(path)?.text ?? '';
  expect(text).toBe(textAt(path).replaceAll('http://localhost:8080', 'https://api.example.org'));
  expect(text).not.toContain('localhost');
});

test.each(paths)('%s is there as Markdown, with the same headings', (path) => {
  const html = textAt(path);
  expect(html).toContain(`<link rel="alternate" href="${path}.md" type="text/markdown" />`);
  const file = docs.find(`${path}.md`);
  expect(file?.contentType).toBe('text/markdown; charset=utf-8');
  const shown = Array.from(html.matchAll(/<h[1-3] id="([^"]+)"/g), ([, id]) => id);
  expect(headingsOf(file?.text ?? '').map(({ id }) => id)).toEqual(shown);
});

test('/llms.txt leads to every page as Markdown', () => {
  const links = Array.from(textAt('/llms.txt').matchAll(/\]\(([^)]+)\)/g), ([, path = '']) => path);
  expect(links).toEqual([...paths.map((path) => `${path}.md`), '/openapi.json']);
});

test('a search finds the sections of all pages that have all words, and shows what was asked as text', () => {
  const linksOf = (asked: string) =>
    docs.search(asked).text.match(/(?<=<li><a href=")\/docs[^"]*#[^"]*/g) ?? [];
  expect(linksOf('List ALL animals')[0]).toBe('/docs/reference#list-all-animals');
  const found = linksOf('idempotency');
  expect(new Set(found.map((link) => link.split('#')[0])).size).toBeGreaterThan(1);
  for (const link of found) {
    const [path = '', id = ''] = link.split('#');
    expect(idsOf(textAt(path))).toContain(id);
  }
  expect(linksOf('idempotency zzz')).toEqual([]);
  expect(linksOf(' ')).toEqual([]);
  const { text } = docs.search('<script>zzz</script>');
  expect(text).toContain('Nothing found: &lt;script&gt;zzz&lt;/script&gt;');
  expect(text).not.toContain('<script>zzz');
});

test('the status in the heading of a code is that of the description', () => {
  const table = readFileSync(new URL('../../../../../gateway/REFERENCE.md', import.meta.url), 'utf8');
  const found = (text: string, pattern: RegExp) =>
    Array.from(text.matchAll(pattern), ([, code, status]) => `${code} ${status}`).toSorted();
  const documented = found(table, /^\| `(\w+)` +\| (\d{3})/gm);
  expect(found(textAt('/docs'), /<code>(\w+)<\/code> \((\d{3})\)/g)).toEqual(documented);
});

test('the reference has every operation and schema of the description', () => {
  const { paths, components } = JSON.parse(api.json) as {
    paths: Record<string, Record<string, { summary: string }>>;
    components: { schemas: object };
  };
  const operations = Object.values(paths)
    .flatMap((path) => Object.values(path))
    .map(({ summary }) => summary);
  expect(operations).toHaveLength(4);
  const headings = [...operations, ...Object.keys(components.schemas)].map(headingId);
  expect(idsOf(textAt('/docs/reference'))).toEqual(expect.arrayContaining(headings));
});

test('the reference shows the headers of responses, and an example of each error', () => {
  const [, afterList = ''] = textAt('/docs/reference').split('id="list-all-animals"');
  const [listPets = ''] = afterList.split('id="add-an-animal"');
  expect(listPets).toMatch(/<code>X-RateLimit-Window<\/code> \(string[^<]*, 429\)/);
  expect(listPets).toContain('Absolute address of the next page');
  for (const status of [400, 401, 408, 413, 417, 429, 431, 500, 502, 503, 504]) {
    expect(listPets).toContain(`&quot;status&quot;:${status}}`);
  }
});

test.each(paths)('%s has each id once, and its links lead to pages and anchors that exist', (path) => {
  const html = textAt(path);
  expect(html).toMatch(/^<!doctype html>\n/);
  expect(new Set(idsOf(html)).size).toBe(idsOf(html).length);
  const broken = addressesOf(html).filter((address) => {
    const [target = '', anchor] = address.split('#');
    if (target === '/openapi.json') return false;
    if (docs.findAsset(target) !== undefined) return false;
    const file = docs.find(target === '' ? path : target);
    return file === undefined || (anchor !== undefined && !idsOf(file.text).includes(anchor));
  });
  expect(broken).toEqual([]);
});

test.each(paths)('%s contains no script, style or handler that its policy would forbid', (path) => {
  expect(textAt(path)).not.toMatch(
    /<script(?![^>]* src=)|<style| style="| on[a-z]+="|https?:\/\/(?!localhost)/,
  );
});

test.each(
  (
    '/docs/ /Docs /docs/guide.md /docs/assets/x/tsconfig.json /docs/assets/x/main.ts ' +
    '/docs/assets/x/../main.css /docs/assets//main.css'
  ).split(' '),
)('%s is neither a page nor a route', (path) => {
  expect(docs.find(path) ?? docs.findAsset(path)).toBeUndefined();
  expect(docs.match(path)).toBeUndefined();
});
