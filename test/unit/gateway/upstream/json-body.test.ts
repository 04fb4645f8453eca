import { expect, test } from 'vitest';
import { isJsonBody } from '../../../../gateway/upstream/json-body.ts';

const longText = 'a'.repeat(1000);

test.each([
  ['an object', '{"a":1}'],
  ['an array', '[1, "ä"]'],
  ['space around it', ' \r\n\t[]\n'],
  ['a long array', `["${longText}"]\n`],
  ['a long object', `\n{"a":"${longText}"} `],
  ['what is in brackets, into which nobody looks', '[1 2]'],
])('%s is JSON', (_name, text) => {
  expect(isJsonBody(Buffer.from(text))).toBe(true);
});

test.each([
  ['nothing', Buffer.from('')],
  ['plain text', Buffer.from('upstream connect error')],
  ['a number, which no response of the API is', Buffer.from('1')],
  ['null', Buffer.from('null')],
  ['a truncated body', Buffer.from('[1, 2')],
  ['an array that ends as an object', Buffer.from('[1}')],
  ['invalid UTF-8', Buffer.from('["\xff"]', 'latin1')],
  ['a byte order mark', Buffer.from('\ufeff[]')],
  ['a long page of HTML', Buffer.from(`<html>${longText}</html>`)],
  ['a long truncated body', Buffer.from(`["${longText}`)],
  ['a long body with the wrong bracket at its end', Buffer.from(`["${longText}"}`)],
  ['long invalid UTF-8', Buffer.from(`["${longText}\xff"]`, 'latin1')],
  ['many spaces', Buffer.from(' '.repeat(1000))],
])('%s is not', (_name, body) => {
  expect(isJsonBody(body)).toBe(false);
});
