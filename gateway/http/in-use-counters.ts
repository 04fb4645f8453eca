/** How many there are of each name. Takes memory for those of which there are any. */
export interface Counts {
  of(name: string): number;
  add(name: string): void;
  /** Undoes one `add`. */
  remove(name: string): void;
}

export function createCounts(): Counts {
  const counts = new Map<string, number>();
  const of = (name: string) => counts.get(name) ?? 0;
  return {
    of,
    add: (name) => void counts.set(name, of(name) + 1),
    remove(name) {
      if (of(name) > 1) counts.set(name, of(name) - 1);
      else counts.delete(name);
    },
  };
}

/**
 * Makes counts of one kind of thing for the whole gateway.
 * @param kind such as `connections`, made once
 * @param limit that they are compared with
 */
export type MakeCounts = (kind: string, limit: number) => Counts;
