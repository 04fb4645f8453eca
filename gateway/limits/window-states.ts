import { windows, type ByWindow, type WindowName } from './windows.ts';

/** State of one window after a decision. */
export interface WindowState {
  /** Units that the window allows, which is requests unless some cost more than one. */
  limit: number;
  /** Units left in the window; never negative. */
  remaining: number;
  /** Milliseconds from the decision to the end of the window. */
  resetMs: number;
}

/** State of each window that has a limit. */
export type WindowStates = ByWindow<WindowState>;

/** What decides between windows, whatever else is known of them. Ends are in any unit that all of them share. */
interface Rankable {
  remaining: number;
  resetMs: number;
}

/**
 * The window that refuses a request: of those with less left than it costs, the one that ends last, since a retry can succeed
 * only then.
 * @returns undefined if none has less
 */
export function refusingWindow(states: ByWindow<Rankable>, units = 1): WindowName | undefined {
  let refusing: WindowName | undefined;
  let latest = -Infinity;
  for (const { name } of windows) {
    const state = states[name];
    if (state === undefined || state.remaining >= units || state.resetMs < latest) continue;
    refusing = name;
    latest = state.resetMs;
  }
  return refusing;
}

/**
 * The window with the fewest units left, which will refuse first; on a tie the one that ends later.
 * @throws TypeError if none has a limit
 */
export function bindingState(states: WindowStates): WindowState {
  let binding: WindowState | undefined;
  for (const { name } of windows) {
    const state = states[name];
    if (state === undefined) continue;
    const isTie = state.remaining === binding?.remaining;
    if (
      binding === undefined ||
      (isTie ? state.resetMs >= binding.resetMs : state.remaining < binding.remaining)
    )
      binding = state;
  }
  if (binding === undefined) throw new TypeError('no window has a limit');
  return binding;
}
