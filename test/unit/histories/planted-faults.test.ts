import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { planted } from '../../histories/planted-faults.ts';

const root = new URL('../../../', import.meta.url);

test.each(planted.flatMap(({ name, edits }) => edits.map(({ file, before }) => ({ name, file, before }))))(
  '$name: $file has what is changed',
  ({ file, before }) => {
    expect(readFileSync(new URL(file, root), 'utf8')).toContain(before);
  },
);
