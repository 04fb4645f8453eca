/** Something that several parts of a page wait for. */
export function createSignal() {
  const listeners: Set<() => void> = new Set();
  return {
    notify() {
      for (const listener of listeners) listener();
    },
    /** @returns ends it */
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
