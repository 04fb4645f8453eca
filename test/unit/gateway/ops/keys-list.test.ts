import { expect, test } from 'vitest';
import { keyViewSchema } from '../../../../gateway/operations/key-view.ts';
import { keyLayout } from '../../../../gateway/ops/keys-list.ts';

test('the CSV of keys has each field of a key, and no other', () => {
  expect(Object.keys(keyLayout.csv).toSorted()).toEqual(Object.keys(keyViewSchema.shape).toSorted());
});
