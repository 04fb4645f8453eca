/** Planted changes that no test can see or has to see, and why. */
export const survivors: readonly { file: string; before: string; after: string; because: string }[] = [];
