/** What a clause of a standard asks for, in our own words, and what shows that it is kept. */
export type Clause = readonly [
  clause: string,
  asks: string,
  /** `path: name` of the test or tests, the path in test/ without its ending; or why there is none. */
  shown: string | readonly string[] | { doesNotApply: string } | { deviates: string },
];

export interface Standard {
  title: string;
  clauses: readonly Clause[];
}
