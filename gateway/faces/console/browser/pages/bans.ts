import '../elements/policy-settings.ts';
import { html } from 'lit';
import { emptyState } from '../../../browser/elements/page-state.ts';
import { button, listTable } from '../../../browser/elements/table.ts';
import { formatRelative } from '../../../browser/format.ts';
import { GrowingList } from '../elements/growing-list.ts';
import { liftBan } from '../elements/key-actions.ts';
import { viewerNote } from '../elements/viewer-note.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import { addressGroup, banPolicyGroup } from '../policy-groups.ts';
import type { Ban, Page } from '../responses.ts';
import { session } from '../session.ts';

/** Active bans, soonest to expire first, and the limits of those who go too far. */
class PageBans extends GrowingList<Ban> {
  read() {
    return this.readPages('/api/bans?');
  }

  override render() {
    return html`<h1>Security</h1>
      ${viewerNote()}
      <h2>Bans, soonest to expire first</h2>
      ${super.render()}
      <p class="quiet">
        A key is banned by hand on its page, or in the menu of its row under <a href="/console/keys">Keys</a>.
      </p>
      <h2>Ban policy</h2>
      <policy-settings .group=${banPolicyGroup}></policy-settings>
      <h2>Requests without a valid key</h2>
      <policy-settings .group=${addressGroup}></policy-settings>`;
  }

  view({ items, next }: Page<Ban>) {
    if (items.length === 0) {
      return emptyState(
        'No key is banned',
        'A key is banned when it goes on after 429: the policy below says when.',
      );
    }
    return html`${listTable('Active bans', items, [
      ['Key', keyLink, '', keyTitle],
      ['Plan', ({ plan }) => planLink(plan), 'minor', ({ plan }) => plan],
      ['Ends', ({ endsAt }) => formatRelative(endsAt), '', ({ endsAt }) => endsAt],
      ['Reason', ({ reason }) => reason],
      session.isOperator &&
        button(
          'Lift',
          ({ name }) => `Lift the ban of ${name}`,
          (ban) => void liftBan(this, ban),
        ),
    ])}
    ${this.moreButton(next)}`;
  }
}

customElements.define('page-bans', PageBans);
