import { expect, test } from 'vitest';
import { consecutiveBan, operatorsReason } from '../../../../gateway/quota/ban-reason.ts';

test("an operator's reason is one line of at most 100 characters; a number or nothing is none", () => {
  expect(operatorsReason(' chargeback\n  of\tMay ')).toBe('chargeback of May');
  expect(operatorsReason('x'.repeat(101))).toBe('x'.repeat(100));
  expect(['', ' \n', '1', '999999999'].map(operatorsReason)).toEqual(Array(4).fill(undefined));
  expect(operatorsReason('1234567890')).toBe('1234567890');
});

test("a gateway's own ban has the number of consecutive bans", () => {
  expect(['1', '12', '999999999', '', '1234567890', '-1', 'x'].map(consecutiveBan)).toEqual([
    1,
    12,
    999_999_999,
    ...Array(4).fill(undefined),
  ]);
});
