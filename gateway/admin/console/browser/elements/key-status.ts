import { html, nothing } from 'lit';
import { usedOf } from '../../../../browser/elements/window-meter.ts';
import { formatDuration, formatRelative, formatTime } from '../../../../browser/format.ts';
import { windows as allWindows, isWindowName, windowOf } from '../../../../limits/windows.ts';
import { planLink, stateTag } from '../key.ts';
import type { BanView, KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/**
 * What the next request of a key gets, in words, and the actions that help if it is refused.
 * @param help called with the name of one
 */
export function keyStatus(key: KeyDetail, help: (action: string) => void) {
  const { headline, detail, actions = [] } = describe(key);
  return html`<section class="panel status ${key.next.served ? '' : 'refused'}" aria-label="State">
    <p>${stateTag(shownState(key))}</p>
    <p class="headline">${headline}</p>
    <p>${detail}</p>
    ${
      actions.length === 0 || !session.isOperator
        ? nothing
        : html`<p class="actions">
            ${actions.map(
              ([action, label], index) =>
                html`<button
                  type="button"
                  class=${index === 0 ? 'wa-brand' : nothing}
                  @click=${() => help(action)}
                >
                  ${label}
                </button>`,
            )}
          </p>`
    }
  </section>`;
}

interface Description {
  headline: unknown;
  detail: unknown;
  actions?: (readonly [action: string, label: string])[];
}

function describe(key: KeyDetail): Description {
  const { next, windows, ban, plan, revokedAt, expiresAt, now } = key;
  if (next.served) {
    const used = allWindows.flatMap(({ name, current }) => {
      const window = windows[name];
      return window === undefined ? [] : [`${usedOf(window)} ${current}`];
    });
    return {
      headline: 'Its requests are served',
      detail: used.length === 0 ? nothing : `${used.join(', ')}.`,
    };
  }
  const left = (iso: string) => formatDuration((Date.parse(iso) - Date.parse(now)) / 1000);
  const window = isWindowName(next.reason) ? windows[next.reason] : undefined;
  if (isWindowName(next.reason) && window !== undefined) {
    const name = next.reason;
    return {
      headline: `Over its ${name} limit: ${usedOf(window)}, resets in ${left(window.resetsAt)}`,
      detail:
        windowOf(name).calendar === undefined
          ? html`Requests are refused with 429 until ${formatTime(window.resetsAt, { dateStyle: 'time' })}.`
          : html`Requests are refused with 429 until ${formatTime(window.resetsAt)}, when the UTC ${name}
            ends.`,
      actions: [
        [name, 'Raise its limit'],
        ...(name === 'day' ? [['reset-day', 'Set the day back'] as const] : []),
      ],
    };
  }
  switch (next.reason) {
    case 'ban':
      return {
        headline: ban === null || ban.endsAt === null ? 'Banned' : `Banned for another ${left(ban.endsAt)}`,
        detail: ban === null ? nothing : describeBan(ban),
        actions: [['lift', 'Lift the ban']],
      };
    case 'expired':
      return {
        headline: 'Its requests are refused: the key has expired',
        detail: html`It expired ${expiresAt === null ? '' : formatRelative(expiresAt)}. Clients get 401.`,
        actions: [['expires', 'Give it more time']],
      };
    case 'revoked':
      return {
        headline: 'Its requests are refused for good: the key is revoked',
        detail: html`It was revoked ${revokedAt === null ? '' : formatRelative(revokedAt)}. Clients get 401. A
        revoked key cannot be restored: issue a new one.`,
      };
    default:
      return {
        headline: 'Its requests are refused: no limit is known for it',
        detail: html`The plan ${planLink(plan)} has no valid limits in Redis, and no gateway that runs knows
        any.`,
        actions: [['plan', 'Move it to another plan']],
      };
  }
}

/** A valid key may be refused all the same. */
function shownState({ state, next }: KeyDetail) {
  if (state !== 'valid' || next.served) return state;
  return next.reason === 'no_limits' ? 'no_limits' : 'limited';
}

function describeBan({ reason, endsAt }: BanView) {
  return html`${endsAt === null ? 'Without an end' : html`Until ${formatTime(endsAt)}`}. Reason: ${reason}`;
}
