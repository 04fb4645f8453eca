/** A text that the browser keeps, unless it forbids that. @param place throws if it is forbidden */
export function keptText(place: () => Storage, name: string) {
  return {
    get(): string {
      try {
        return place().getItem(name) ?? '';
      } catch {
        return '';
      }
    },
    /** @param text empty to forget it */
    set(text: string) {
      try {
        place().setItem(name, text);
        if (text === '') place().removeItem(name);
      } catch {
        // This page still has it.
      }
    },
  };
}
