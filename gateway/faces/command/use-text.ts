import type { WindowView, WindowViews } from '../../control/customers/customer-limits.ts';
import { mapWindows } from '../../limits/windows.ts';

/** A line for each window: what is used of it, and when it ends. */
export const windowTexts = (windows: WindowViews) => mapWindows(windows, describeWindow);

function describeWindow({ used, limit, remaining, resetsAt }: WindowView): string {
  if (limit === null) return `${used} used; the limit is invalid, see: ops plans list`;
  return `${used} of ${limit} used, ${remaining} remaining, resets at ${resetsAt}`;
}
