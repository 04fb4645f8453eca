import { expect, test } from 'vitest';
import { csrfTokenFor, isCsrfToken } from '../../../../../../gateway/faces/api/access/page-access.ts';

test('the token of a session belongs to that session only, and does not reveal its secret', () => {
  const token = csrfTokenFor('secret');
  expect(isCsrfToken(token, 'secret')).toBe(true);
  expect(isCsrfToken(token, 'other')).toBe(false);
  expect(token).not.toContain('secret');
  for (const wrong of ['', token.slice(1), `${token}x`, token.toLowerCase(), 'é'.repeat(token.length)]) {
    expect(isCsrfToken(wrong, 'secret')).toBe(false);
  }
});
