import { html, nothing } from 'lit';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { capitalized } from '../../../browser/format.ts';
import { url } from '../api.ts';
import { session } from '../session.ts';
import { viewerNote } from './page-head.ts';

/** The page of one customer, key or plan: the way back, its state, and what can be done. */
export abstract class DetailPage<Detail extends { name: string }> extends PolledElement<Detail> {
  abstract readonly noun: 'customer' | 'key' | 'plan';
  /** Its state, beside its name. */
  state?(detail: Detail): unknown;
  /** What an operator can do. */
  abstract actions(detail: Detail): unknown;

  override render() {
    const { content, noun } = this;
    const name = content?.name || this.item;
    const kind = capitalized(noun);
    if (this.isConnected) document.title = document.title.replace(/^.*? – /, `${kind} ${name} – `);
    return html`<p class="row">
        <a href=${url`/console/${noun}s`}>All ${noun}s</a>
        <a href=${url`/console/audit?target=${this.item}`}>Changes in the audit log</a>
      </p>
      <div class="head row spread">
        <div class="head row">
          <h1><span class="quiet">${kind}</span> ${name}</h1>
          <span>${content && this.state?.(content)}</span>
        </div>
        ${content && session.isOperator ? html`<div class="actions">${this.actions(content)}</div>` : nothing}
      </div>
      ${viewerNote()} ${super.render()}`;
  }
}
