import { html } from 'lit';

/** Names and values. @param facts false for one that is not shown */
export const factList = (facts: readonly (readonly [name: string, value: unknown] | false)[]) =>
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
