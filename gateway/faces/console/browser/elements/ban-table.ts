import { html } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import type { PolledElement } from '../../../browser/elements/polled-element.ts';
import { button, listTable } from '../../../browser/elements/table.ts';
import { relativeOr } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import { keyLink, planLink } from '../key.ts';
import type { Ban, Changed } from '../responses.ts';
import { session } from '../session.ts';

/** Active bans, which an operator can lift. */
export const banTable = (page: PolledElement<unknown>, bans: readonly Ban[]) =>
  listTable('Active bans', bans, [
    ['Key', keyLink],
    ['Plan', ({ plan }) => planLink(plan)],
    ['Ends', ({ endsAt }) => relativeOr(endsAt, 'with its next requests')],
    ['Reason', ({ reason }) => reason],
    session.isOperator &&
      button(
        'Lift',
        ({ name }) => `Lift the ban of ${name}`,
        (ban) => askToLift(page, ban),
      ),
  ]);

const askToLift = (page: PolledElement<unknown>, { id, name, reason }: Ban) =>
  ask(page, {
    heading: `Lift the ban of ${name}?`,
    action: 'Lift the ban',
    message: () =>
      html`<p>
        Banned for: ${reason}. Its requests are served again within a second, and what led to the ban is
        forgotten.
      </p>`,
    run: () =>
      page.saved(
        api.delete<Changed>(url`/api/keys/${id}/ban`),
        `The ban of ${name} was lifted. Its next request is served within a second.`,
      ),
  });
