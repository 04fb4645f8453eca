import { expect, test } from 'vitest';
import { replaceSection } from '../../bench/report.ts';

const document = '# Results\n\nText.\n\n## Growth\n\nold\n\n### By keys\n\n1\n\n## Growth of pets\n\n2\n';

test('a section of the results is replaced with its parts, and the others stay', () => {
  expect(replaceSection(document, '## Growth\n\nnew\n\n### By gateways\n\n3')).toBe(
    '# Results\n\nText.\n\n## Growth\n\nnew\n\n### By gateways\n\n3\n\n## Growth of pets\n\n2\n',
  );
});

test('a section that the results lack is appended', () => {
  expect(replaceSection(document, '## Pets service\n\n4\n')).toBe(`${document}\n## Pets service\n\n4\n`);
});
