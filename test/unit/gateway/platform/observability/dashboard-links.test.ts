import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { dashboard } from '../../../../support/checks/observability-files.ts';

const headingId = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

test('the links of the dashboard lead to the console, or to headings that there are', () => {
  const links = [dashboard, ...dashboard.panels].flatMap((part) => part.links);
  expect(links.length).toBeGreaterThan(10);
  for (const { url } of links) {
    if (url.startsWith('${console}/console')) continue;
    const { pathname, hash } = new URL(url.replace('${documents}/', 'file:///'));
    const text = readFileSync(new URL(`../../../../..${pathname}`, import.meta.url), 'utf8');
    const ids = Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) => headingId(heading));
    expect(['', ...ids], url).toContain(hash.slice(1));
  }
});
