import { html, nothing } from 'lit';
import { isWindowName } from '../../../../limits/windows.ts';
import { usedOf } from '../../../browser/elements/window-meter.ts';
import { formatDuration, formatTime, relativeOr } from '../../../browser/format.ts';
import { planLink, stateTag } from '../key.ts';
import type { BanView, KeyDetail } from '../responses.ts';
import { session } from '../session.ts';

/** What can be done about a key whose requests are refused. */
interface Help {
  lift: () => unknown;
  giveTime: () => unknown;
}

/** What the next request of a key gets, in words, and the actions that help if it is refused. */
export function keyStatus(key: KeyDetail, help: Help) {
  const { headline, detail = nothing, actions = [] } = describe(key, help);
  return html`<section class="panel status ${key.next.served ? '' : 'refused'}" aria-label="State">
    <p>${stateTag(shownState(key))}</p>
    <p class="headline">${headline}</p>
    <p>${detail}</p>
    ${
      session.isOperator && actions.length > 0
        ? html`<p class="actions">
            ${actions.map(
              ([label, act], index) =>
                html`<button type="button" class=${index === 0 ? 'primary' : nothing} @click=${act}>
                  ${label}
                </button>`,
            )}
          </p>`
        : nothing
    }
  </section>`;
}

interface Description {
  headline: string;
  detail?: unknown;
  actions?: (readonly [label: string, act: () => unknown])[];
}

function describe(key: KeyDetail, { lift, giveTime }: Help): Description {
  const { next, windows, ban, plan, revokedAt, expiresAt, now } = key;
  if (next.served) return { headline: 'Its requests are served' };
  const left = (iso: string) => formatDuration((Date.parse(iso) - Date.parse(now)) / 1000);
  const { reason } = next;
  if (isWindowName(reason)) {
    const window = windows[reason];
    return {
      headline: `Over its ${reason} limit: ${window === undefined ? '' : `${usedOf(window)}, resets in ${left(window.resetsAt)}`}`,
      detail: window && html`Requests are refused with 429 until ${formatTime(window.resetsAt)}.`,
    };
  }
  switch (reason) {
    case 'ban':
      return {
        headline: ban === null || ban.endsAt === null ? 'Banned' : `Banned for another ${left(ban.endsAt)}`,
        detail: ban && describeBan(ban),
        actions: [['Lift the ban', lift]],
      };
    case 'expired':
      return {
        headline: 'Its requests are refused: the key has expired',
        detail: html`It expired ${relativeOr(expiresAt, '')}. Clients get 401.`,
        actions: [['Give it more time', giveTime]],
      };
    case 'revoked':
      return {
        headline: 'Its requests are refused for good: the key is revoked',
        detail: html`It was revoked ${relativeOr(revokedAt, '')}. Clients get 401. A revoked key cannot be
        restored: issue a new one.`,
      };
    case 'suspended':
      return { headline: 'Its requests are refused: its customer is suspended', detail: 'Clients get 401.' };
    case 'no_limits':
      return {
        headline: 'Its requests are refused: no limit is known for it',
        detail: html`The plan ${planLink(plan)} has no valid limits in Redis, and no gateway that runs knows
        any.`,
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
