import fc from 'fast-check';
import { expect, test } from 'vitest';
import { textMatcher } from '../../../../../gateway/control/customers/text-matcher.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 20 });

test('a part of a text is found in any case and Unicode form', () => {
  fc.assert(
    fc.property(text, text, text, (before, part, after) => {
      const whole = `${before}${part}${after}`;
      for (const written of [part, part.toUpperCase(), part.normalize('NFD'), part.normalize('NFC')]) {
        expect(textMatcher(written)(whole)).toBe(true);
      }
    }),
  );
});

test.each([
  ['strasse', 'Hauptstraße 7', true],
  ['οδος', 'ΟΔΟΣ', true],
  ['müller', 'MU\u{308}LLER GmbH', true],
  ['ＡＣＭＥ', 'acme', true],
  ['  acme ', 'Acme', true],
  ['acme', 'ac me', false],
])('%s in %s: %s', (part, whole, found) => {
  expect(textMatcher(part)(whole)).toBe(found);
});
