import '../elements/confirm-dialog.ts';
import '../elements/plan-limits-form.ts';
import '../elements/plan-trial.ts';
import { html, nothing } from 'lit';
import { keyed } from 'lit/directives/keyed.js';
import { api } from '../api.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { entryTable } from '../elements/entry-table.ts';
import { LightElement } from '../elements/light-element.ts';
import { notify } from '../elements/notice.ts';
import { emptyState, inlineFailure } from '../elements/page-state.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { formatRelative, plural } from '../format.ts';
import { countedText, enforcedText, issueList, limitsText, refusedText } from '../plan-text.ts';
import { Refresher } from '../refresher.ts';
import type { AuditEntry, Changed, Page, PlanDetail } from '../responses.ts';
import { router } from '../router.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

const builtIn = new Set(['free', 'pro', 'business']);

/** One plan: its limits, the effect of other ones, its trial, and its last changes. */
class PagePlan extends LightElement {
  static override properties = {
    item: {},
    plan: { state: true },
    entries: { state: true },
  };

  item = '';
  plan: PlanDetail | undefined;
  entries: AuditEntry[] | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => (this.plan?.counting ? 1000 : 5000),
  );

  async load() {
    const name = this.item;
    const [plan, { items }] = await Promise.all([
      api.get<PlanDetail>(url`/api/plans/${name}`),
      api.get<Page<AuditEntry>>(url`/api/audit?action=plans&limit=10&target=${name}`),
    ]);
    this.plan = plan;
    this.entries = items;
  }

  reload() {
    void this.refresher.now();
  }

  async undo({ id, before }: NonNullable<PlanDetail['lastChange']>) {
    const { warnings } = await api.post<Changed>(url`/api/plans/${this.item}/undo`, { entry: id });
    notify(`The limits of ${this.item} are ${limitsText(before)} again, within a second.`, warnings);
    await this.refresher.now();
  }

  async remove_() {
    const { warnings } = await api.delete<Changed>(url`/api/plans/${this.item}`);
    notify(`The plan ${this.item} was removed.`, warnings);
    router.navigate('/console/plans');
  }

  override render() {
    const { plan } = this;
    if (plan === undefined) {
      return html`<h1>${this.item}</h1>
        ${this.refresher.placeholder()}`;
    }
    return html`<p><a href="/console/plans">All plans</a></p>
      <h1>${plan.name}</h1>
      ${viewerNote()} ${inlineFailure(this.refresher.failure)} ${issueList(plan.issues)} ${this.summary(plan)}
      ${
        plan.kind === 'plan'
          ? html`<h2>Limits of each customer</h2>
              <plan-limits-form
                .subject=${plan}
                @changed=${this.reload}
                @conflict=${this.reload}
              ></plan-limits-form>
              ${plan.trial === null ? nothing : this.trial(plan, plan.trial)} ${this.lastChanges(plan)}
              ${this.removal(plan)}`
          : html`<p>
              The limits are not those of a plan: see <a href="/console/settings">Settings</a> and the pages
              of <a href="/console/customers">customers</a>.
            </p>`
      }`;
  }

  summary(plan: PlanDetail) {
    return html`<dl class="plan-facts">
        <div>
          <dt>Limits</dt>
          <dd>${limitsText(plan)}</dd>
        </div>
        <div>
          <dt>In force</dt>
          <dd>${enforcedText(plan, plan.running)}</dd>
        </div>
        <div>
          <dt>Keys</dt>
          <dd>
            ${
              plan.keys === null
                ? '…'
                : html`<a href=${url`/console/keys?plan=${plan.name}`}>${plural(plan.keys, 'valid key')}</a>`
            }
          </dd>
        </div>
        <div>
          <dt>Refused in the last hour</dt>
          <dd>${refusedText(plan.lastHour)}</dd>
        </div>
      </dl>
      <p class="quiet">${countedText(plan.keysAsOf, plan.counting)}</p>`;
  }

  /** Shows each trial in an element of its own, or the next one would begin with the limits of the one before. */
  trial(plan: PlanDetail, { since }: NonNullable<PlanDetail['trial']>) {
    return html`<h2>On trial</h2>
      ${keyed(since, html`<plan-trial .plan=${plan} @changed=${this.reload}></plan-trial>`)}`;
  }

  lastChanges({ lastChange }: PlanDetail) {
    const canUndo = lastChange !== null && lastChange.obstacle === null;
    return html`<h2>Last changes</h2>
      ${
        canUndo && session.isOperator
          ? html`<div class="actions">
              <button type="button" @click=${() => showDialog(this, '.undo')}>Undo</button>
              <span class="quiet">Back to ${limitsText(lastChange.before)}</span>
            </div>`
          : nothing
      }
      ${
        lastChange !== null && lastChange.obstacle !== null && session.isOperator
          ? html`<p class="quiet">The last change cannot be undone: ${lastChange.obstacle}.</p>`
          : nothing
      }
      ${this.entryTable()}
      ${
        canUndo
          ? html`<confirm-dialog
              class="undo"
              heading="Undo the last change?"
              action="Undo"
              .message=${html`<p>
                ${limitsText(lastChange.after)} (set by ${lastChange.who} ${formatRelative(lastChange.at)}) →
                <strong>${limitsText(lastChange.before)}</strong>, in force on all gateways within a second.
              </p>`}
              .run=${() => this.undo(lastChange)}
            ></confirm-dialog>`
          : nothing
      }`;
  }

  entryTable() {
    const { entries = [] } = this;
    if (entries.length === 0)
      return emptyState('No changes yet', 'Each change of this plan will be listed here.');
    return html`${entryTable('Last changes', entries, true)}
      <p>
        <a href=${url`/console/audit?target=${this.item}`}>All entries in the audit log</a>
      </p>`;
  }

  removal({ name, keys }: PlanDetail) {
    if (builtIn.has(name) || !session.isOperator) return nothing;
    return html`<div class="danger-zone">
      <button
        type="button"
        class="wa-danger wa-outlined"
        ?disabled=${keys !== null && keys > 0}
        @click=${() => showDialog(this, '.remove')}
      >
        Remove this plan
      </button>
      ${keys ? html`<p class="hint">${plural(keys, 'key')} ${keys === 1 ? 'is' : 'are'} on it: move ${keys === 1 ? 'it' : 'them'} to another plan first.</p>` : nothing}
      <confirm-dialog
        class="remove"
        heading=${`Remove the plan ${name}?`}
        action="Remove"
        danger
        .typed=${name}
        .message=${html`<p>No key can be put on it any more. This is refused if a valid key is on it.</p>`}
        .run=${() => this.remove_()}
      ></confirm-dialog>
    </div>`;
  }
}

customElements.define('page-plan', PagePlan);
