const lengths = [
  [3600, '1 hour'],
  [86_400, '1 day'],
  [604_800, '7 days'],
  [2_592_000, '30 days'],
] as const;

/** Seconds for which forms offer to ban a key. */
export const banLengths = [[900, '15 minutes'], ...lengths] as const;

/** Seconds for which they offer that a key still works when it is replaced. */
export const graceLengths = [
  [0, 'Ends now'] as const,
  ...lengths.map(([seconds, text]) => [seconds, `Works for ${text} more`] as const),
];

export const defaultGraceSeconds = 86_400;
