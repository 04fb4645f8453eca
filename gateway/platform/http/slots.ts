/**
 * Slots for what lasts, of which each owner can take only some. An owner uses memory only while it has one.
 * @returns a function that takes a slot; that returns the function that frees it, or undefined if there is none
 */
export function createSlots(max: number, maxOfOwner: number): (owner: string) => (() => void) | undefined {
  const perOwner = new Map<string, number>();
  let taken = 0;
  return function takeSlot(owner) {
    const ofOwner = perOwner.get(owner) ?? 0;
    if (taken >= max || ofOwner >= maxOfOwner) return undefined;
    taken += 1;
    perOwner.set(owner, ofOwner + 1);
    return () => {
      taken -= 1;
      const left = (perOwner.get(owner) ?? 0) - 1;
      if (left > 0) perOwner.set(owner, left);
      else perOwner.delete(owner);
    };
  };
}
