import { html } from 'lit';

/** A name and a value; false for one that is not shown. */
export type Fact = readonly [name: string, value: unknown] | false;

export const factList = (facts: readonly Fact[]) =>
  html`<dl class="facts">
    ${facts.map((fact) =>
      fact === false
        ? ''
        : html`<div>
            <dt>${fact[0]}</dt>
            <dd>${fact[1]}</dd>
          </div>`,
    )}
  </dl>`;
