/** Named counters. A name uses memory only while its count is above zero. */
export interface InUseCounter {
  count(name: string): number;
  add(name: string): void;
  /** Undoes one `add`. */
  remove(name: string): void;
}

export function createInUseCounter(): InUseCounter {
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
