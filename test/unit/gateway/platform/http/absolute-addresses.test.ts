import { describe, expect, test } from 'vitest';
import { absoluteAddresses } from '../../../../../gateway/platform/http/addresses.ts';

const base = 'https://api.example.com/animals';
const linkOf = (link: string | string[]) => absoluteAddresses({ link }, () => base)['link'];

describe('absoluteAddresses', () => {
  test('changes every target of several', () => {
    expect(linkOf('</a>; rel="next", </b>;rel=prev')).toBe(`<${base}/a>; rel="next", <${base}/b>;rel=prev`);
    expect(linkOf(['</a>; rel="next"', '</b>; rel="prev"'])).toEqual([
      `<${base}/a>; rel="next"`,
      `<${base}/b>; rel="prev"`,
    ]);
  });

  test.each([
    '<https://other.example/a>; rel="next"',
    '<//other.example/a>; rel="next"',
    '<?cursor=A>; rel="next"',
    '<#part>; rel="describedby"',
  ])('leaves %s as it is', (link) => {
    expect(linkOf(link)).toBe(link);
  });

  test('leaves what looks like a target inside a quoted parameter', () => {
    const title = String.raw`title="see \"</b>\""`;
    expect(linkOf(`</a>; ${title}; rel="next"`)).toBe(`<${base}/a>; ${title}; rel="next"`);
  });

  test('takes linear time', () => {
    const hostile = ['<'.repeat(300_000), '"'.repeat(300_001), String.raw`"\"`.repeat(300_000)].join('');
    expect(linkOf(hostile)).toBe(hostile);
  });
});
