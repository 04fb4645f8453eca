import { expect, test } from 'vitest';
import { meanRatio } from '../../bench/ratio.ts';

test('the mean of ratios is geometric, so that twice and half are one', () => {
  expect(meanRatio([2, 0.5]).ratio).toBeCloseTo(1);
});

test("the interval is Student's t of the logarithms", () => {
  // Logarithms 0.1, 0.2 and 0.3: mean 0.2, deviation 0.1; t is 4.303 with two degrees of freedom.
  const { ratio, low, high } = meanRatio([0.1, 0.2, 0.3].map(Math.exp));
  expect(Math.log(ratio)).toBeCloseTo(0.2);
  expect(Math.log(low)).toBeCloseTo(0.2 - (4.303 * 0.1) / Math.sqrt(3));
  expect(Math.log(high)).toBeCloseTo(0.2 + (4.303 * 0.1) / Math.sqrt(3));
});

test('of very many ratios it is that of the normal distribution', () => {
  const { low, high } = meanRatio(Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? 1.1 : 0.9)));
  const deviation = (Math.log(1.1) - Math.log(0.9)) / 2 / Math.sqrt(99);
  expect(Math.log(high) - Math.log(low)).toBeCloseTo(2 * 1.96 * deviation);
});

test('one ratio alone has no interval', () => {
  expect(meanRatio([1.1])).toEqual({ ratio: 1.1, low: 0, high: Infinity });
});
