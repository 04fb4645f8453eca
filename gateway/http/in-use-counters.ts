/** Named counters. A name uses memory only while its count is above zero. */
export function createInUseCounter() {
  const counts = new Map<string, number>();
  const count = (name: string) => counts.get(name) ?? 0;
  return {
    count,
    add: (name: string) => void counts.set(name, count(name) + 1),
    /** Undoes one `add`. */
    remove(name: string): void {
      if (count(name) > 1) counts.set(name, count(name) - 1);
      else counts.delete(name);
    },
  };
}
