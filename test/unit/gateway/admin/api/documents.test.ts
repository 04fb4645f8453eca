import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { documents, renderDocument } from '../../../../../gateway/admin/api/documents.ts';
import {
  documentPath,
  headingId,
  documents as namedDocuments,
} from '../../../../../gateway/admin/console/browser/documents.ts';
import { dashboard } from '../../../../support/checks/observability-files.ts';

const rendered = new Map(
  Object.entries(documents).map(([name, url]) => [name, renderDocument(readFileSync(url, 'utf8'), url)]),
);

/** Addresses of all documents and of the headings in them. */
const places = new Set(
  Array.from(rendered, ([name, html]) => [
    `/console/documents/${name}`,
    ...Array.from(html.matchAll(/<h\d>(.*?)<\/h\d>/g), ([, heading = '']) => {
      const text = heading.replaceAll(/<[^>]+>/g, '').replaceAll('&#39;', "'");
      return `/console/documents/${name}#${headingId(text)}`;
    }),
  ]).flat(),
);

test('each link between documents for operators leads to a heading that there is', () => {
  const links = Array.from(rendered.values(), (html) =>
    Array.from(html.matchAll(/href="(\/[^"]+)"/g), ([, href = '']) => href),
  ).flat();
  expect(links.length).toBeGreaterThan(20);
  expect(links.filter((href) => !places.has(href))).toEqual([]);
});

test('what problems refer to is a heading that there is', () => {
  expect(Object.keys(namedDocuments)).toEqual(Object.keys(documents));
  for (const [file, heading] of [
    ['gateway/observability/ALERTS.md', 'GatewayWithoutRedis'],
    ['gateway/ops/RUNBOOK.md', 'Redis came back empty'],
    ['gateway/OPERATIONS.md', 'Start, stop, health'],
  ] as const) {
    expect(places).toContain(documentPath(file, heading));
  }
});

test('the links of the dashboard lead to pages of the console', () => {
  const links = [dashboard, ...dashboard.panels].flatMap((part) => part.links);
  expect(links.length).toBeGreaterThan(10);
  const variable = '${console}';
  expect(links.filter(({ url }) => !url.startsWith(`${variable}/console`))).toEqual([]);
  const paths = links.map(({ url }) => url.slice(variable.length));
  expect(paths.filter((path) => path.startsWith('/console/documents/') && !places.has(path))).toEqual([]);
});

test('HTML in a document is shown as text, and links to other files are not links', () => {
  expect(
    renderDocument('<b onclick="x()">a</b> [code](../../app.ts) [x](javascript:alert(1))', documents.alerts),
  ).toBe('<p>&lt;b onclick="x()">a&lt;/b> code x</p>\n');
});
