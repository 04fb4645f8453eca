import { createServer } from 'node:http';
import express from 'express';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLight, portalPages } from '../../../../../gateway/faces/portal/portal.ts';
import { listening } from '../../../../support/http/listening.ts';

const look = {
  title: 'Keys & <b>Co</b> "Ltd"',
  color: '#7a1fa2',
  supportUrl: 'https://example.com/?a=1&b=2',
};

test('the page has title, color and support address of its own, and runs nothing that is written into it', async () => {
  using server = await listening(createServer(express().use(portalPages(look))));
  const page = await fetch(`${server.url}/portal`);
  const text = await page.text();
  expect(text).toContain('<title>Keys &amp; &lt;b&gt;Co&lt;/b&gt; &quot;Ltd&quot;</title>');
  expect(text).toContain('content="https://example.com/?a=1&amp;b=2"');
  expect(page.headers.get('Content-Security-Policy')).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self'; /,
  );
  expect(text).not.toMatch(/<style|style=|onload=/);
  const [, theme = ''] = /href="([^"]+\.css)"/.exec(text) ?? [];
  const response = await fetch(server.url + theme);
  expect(response.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
  expect(await response.text()).toContain(':root { --portal-color: #7a1fa2; --portal-text: #ffffff; }\n');
});

test('text on any color can be read: a contrast of at least 4.5 (WCAG 2.2, 1.4.3)', () => {
  const luminance = (color: string) => {
    const [red = 0, green = 0, blue = 0] = (color.slice(1).match(/../g) ?? [])
      .map((part) => Number.parseInt(part, 16) / 255)
      .map((share) => (share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
      const color = `#${value.toString(16).padStart(6, '0')}`;
      const [lighter, darker] = isLight(color) ? [luminance(color), 0] : [1, luminance(color)];
      expect((lighter + 0.05) / (darker + 0.05)).toBeGreaterThanOrEqual(4.5);
    }),
  );
});
