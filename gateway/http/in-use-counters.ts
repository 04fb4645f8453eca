/** Named counters. A name uses memory only while its count is above zero. */
export interface InUseCounter {
  count(name: string): number;
  add(name: string): void;
  /** Undoes one `add`. */
  remove(name: string): void;
}

/**
 * Creates a counter of one kind of thing, which counts for the whole gateway.
 * @param kind unique name, such as `connections`
 * @param limit number that the counts are compared with
 */
export type CreateCounter = (kind: string, limit: number) => InUseCounter;

/** A counter of this process alone. */
export function createCounter(): InUseCounter {
  const counts = new Map<string, number>();
  const count = (name: string) => counts.get(name) ?? 0;
  return {
    count,
    add: (name) => void counts.set(name, count(name) + 1),
    remove(name) {
      if (count(name) > 1) counts.set(name, count(name) - 1);
      else counts.delete(name);
    },
  };
}
