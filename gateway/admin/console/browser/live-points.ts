/** Requests of some time by class of status. */
export type StatusPoint = { at: string; seconds: number; byStatus: Record<string, number> };

/**
 * Adds up the seconds after the end of the record in steps.
 * @param end Unix seconds
 */
export function livePoints(seconds: readonly StatusPoint[], end: number, step: number): StatusPoint[] {
  const newer = seconds.filter((second) => endOf(second) - second.seconds >= end);
  const groups = Map.groupBy(newer, (second) => Math.floor((endOf(second) - second.seconds - end) / step));
  return Array.from(groups, ([index, group]) => {
    const byStatus: Record<string, number> = {};
    for (const [status, count] of group.flatMap((second) => Object.entries(second.byStatus))) {
      byStatus[status] = (byStatus[status] ?? 0) + count;
    }
    const at = new Date((end + index * step) * 1000).toISOString();
    return { at, seconds: group.reduce((sum, second) => sum + second.seconds, 0), byStatus };
  });
}

const endOf = ({ at }: StatusPoint) => Date.parse(at) / 1000;
