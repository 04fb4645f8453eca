/** Members and scores of a reply WITHSCORES. */
export function scoredMembers(flat: readonly string[]): [member: string, score: number][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [
    flat[2 * index] ?? '',
    // inf and -inf, which were set by hand.
    Number(flat[2 * index + 1]?.replace('inf', 'Infinity')),
  ]);
}
