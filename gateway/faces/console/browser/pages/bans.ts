import '../elements/policy-settings.ts';
import { html } from 'lit';
import { button } from '../../../browser/elements/table.ts';
import { formatRelative } from '../../../browser/format.ts';
import { liftBan } from '../elements/key-dialogs.ts';
import { ListPage, type Columns } from '../elements/list-page.ts';
import { keyLink, keyTitle, planLink } from '../key.ts';
import { addressGroup, banPolicyGroup } from '../policy-groups.ts';
import type { Ban } from '../responses.ts';
import { session } from '../session.ts';

/** Active bans, soonest to expire first, and the limits of those who go too far. */
class PageBans extends ListPage<Ban> {
  override readonly heading = 'Security';
  override readonly label = 'Active bans';
  override readonly list = '/api/bans';
  override readonly none = [
    'No key is banned',
    'A key is banned when it goes on after 429: the policy below says when.',
  ] as const;

  override about() {
    return html`<h2>Bans, soonest to expire first</h2>`;
  }

  override render() {
    return html`${super.render()}
      <p class="quiet">
        A key is banned by hand on its page, or in the menu of its row under <a href="/console/keys">Keys</a>.
      </p>
      <h2>Ban policy</h2>
      <policy-settings .group=${banPolicyGroup}></policy-settings>
      <h2>Requests without a valid key</h2>
      <policy-settings .group=${addressGroup}></policy-settings>`;
  }

  columns(): Columns<Ban> {
    return [
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
    ];
  }
}

customElements.define('page-bans', PageBans);
