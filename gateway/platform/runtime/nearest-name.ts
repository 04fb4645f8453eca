/** Edits in a mistyped name. Two letters that changed places are two. */
const maxEdits = 2;

/** @returns the name that takes the fewest edits to become the given text; undefined if none is near */
export function nearestName(text: string, names: readonly string[]): string | undefined {
  // Each letter more or less is an edit. Comparing all names with all variables of an environment takes 50 ms of a start.
  const similar = names.filter((name) => Math.abs(name.length - text.length) <= maxEdits);
  const distances = similar.map((name) => ({ name, edits: editDistance(text, name) }));
  const near = distances.filter(({ edits }) => edits <= maxEdits);
  return near.toSorted((one, other) => one.edits - other.edits)[0]?.name;
}

/** Levenshtein distance: the number of letters to insert, remove or replace. */
function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const [index, letter] of one.split('').entries()) {
    const next = [index + 1];
    for (let column = 1; column <= other.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (letter === other[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
