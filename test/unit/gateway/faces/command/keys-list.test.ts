import { expect, test } from 'vitest';
import { keyViewSchema } from '../../../../../gateway/control/keys/key-view.ts';
import { keyLayout } from '../../../../../gateway/faces/command/keys-list.ts';

test('the CSV of keys has each field of a key, and no other', () => {
  expect(Object.keys(keyLayout.csv).toSorted()).toEqual(Object.keys(keyViewSchema.shape).toSorted());
});
