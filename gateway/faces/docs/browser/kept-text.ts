/**
 * A text that the browser keeps, or this page if the browser forbids that.
 * @param place throws if it is forbidden
 */
export function keptText(place: () => Storage, name: string) {
  let inMemory = '';
  return {
    get(): string {
      try {
        return place().getItem(name) ?? inMemory;
      } catch {
        return inMemory;
      }
    },
    /** @param text empty to forget it */
    set(text: string) {
      inMemory = text;
      try {
        place().setItem(name, text);
        if (text === '') place().removeItem(name);
      } catch {
        // The page has it.
      }
    },
  };
}
