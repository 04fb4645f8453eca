import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { issueList } from '../plan-text.ts';
import type { SettingState } from '../responses.ts';
import { session } from '../session.ts';
import { enforcedText, SettlingElement } from './settling-element.ts';

type Bounds = { min: number; max: number };

/** A setting of the whole fleet: what it does, who enforces it, and how it is changed. */
export abstract class SettingElement<
  Value,
  State extends SettingState<Value>,
> extends SettlingElement<State> {
  /** Of the API. */
  abstract path: string;

  /** What gateways do that enforce it. */
  abstract effect(value: Value): unknown;
  /** The same, as short as it can be. */
  abstract describe(value: Value): string;
  abstract askToChange(state: State): void;

  /** Further buttons. */
  moreActions(_state: State): unknown {
    return nothing;
  }

  read() {
    return api.get<State>(this.path);
  }

  view(state: State) {
    const { stored, enforced, gateways, issues } = state;
    const inForce = stored ?? enforced[0]?.value;
    const running = enforced.reduce((sum, other) => sum + other.gateways, gateways);
    const describe = ({ value }: { value: Value }) => this.describe(value);
    return html`${issueList(issues)}
      <div class="narrow stack">${inForce === undefined ? nothing : this.effect(inForce)}</div>
      <p class="quiet">In force: ${enforcedText(state, running, describe, this.isSettling)}</p>
      ${
        session.isOperator
          ? html`<div class="actions">
              <button type="button" @click=${() => this.askToChange(state)}>Change…</button>
              ${this.moreActions(state)}
            </div>`
          : nothing
      }`;
  }
}

/** @returns the number that was typed; undefined if it is out of range */
export function numberWithin(text: string, { min, max }: Bounds) {
  const value = Number(text);
  return text !== '' && value >= min && value <= max ? value : undefined;
}
