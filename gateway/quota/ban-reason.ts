const maxLength = 100;

/**
 * Reason of a ban, for the client as well.
 * @param value of the ban in Redis: a number in a gateway's own ban, otherwise what an operator wrote
 * @returns undefined for a gateway's own ban, and without a text
 */
export function operatorsReason(value: string): string | undefined {
  const text = value
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
  return text === '' || consecutiveBan(text) !== undefined ? undefined : text;
}

/** @returns the number of consecutive bans, which is the value of a gateway's own ban */
export function consecutiveBan(value: string): number | undefined {
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}
