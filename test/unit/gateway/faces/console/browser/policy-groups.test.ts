import { expect, test } from 'vitest';
import { policySentences } from '../../../../../../gateway/faces/console/browser/policy-groups.ts';
import { defaultBanPolicy } from '../../../../../../gateway/quota/policies.ts';

test.each(Object.keys(defaultBanPolicy))('the console says what the ban policy does with %s', (field) => {
  const value: unknown = Reflect.get(defaultBanPolicy, field);
  const changed = { ...defaultBanPolicy, [field]: typeof value === 'number' ? 2 * value : !value };
  const sentences = (policy: typeof defaultBanPolicy) =>
    policySentences(policy, [{ name: 'free', minute: 60 }]).join(' ');
  expect(sentences(changed)).not.toBe(sentences(defaultBanPolicy));
});
