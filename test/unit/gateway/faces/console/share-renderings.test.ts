import { expect, test } from 'vitest';
import { shareRenderings } from '../../../../../gateway/faces/console/share-renderings.ts';

test('calls that wait share a rendering, and none gets one that began before it', async () => {
  let renderings = 0;
  const render = shareRenderings(() => Promise.resolve((renderings += 1)).then(String));
  const callMany = () => Promise.all(Array.from({ length: 50 }, () => render()));
  expect(new Set(await callMany())).toEqual(new Set(['1']));
  const during = render();
  expect(new Set(await callMany())).toEqual(new Set(['2']));
  expect(await during).toBe('2');
  expect(await render()).toBe('3');
  expect(renderings).toBe(3);
});
