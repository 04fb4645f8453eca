import fc from 'fast-check';

type Arbitraries<T> = { [K in keyof T]: fc.Arbitrary<T[K]> };

/** One kind of step of a property's scenario, how often it is to be among them, and what it says beside its kind. */
export function stepOf<const Does extends string, Fields extends object = object>(
  weight: number,
  does: Does,
  fields: Arbitraries<Fields> = {} as Arbitraries<Fields>,
): fc.WeightedArbitrary<{ does: Does } & Fields> {
  const arbitrary = fc.record({ does: fc.constant(does), ...fields });
  return { weight, arbitrary: arbitrary as unknown as fc.Arbitrary<{ does: Does } & Fields> };
}
