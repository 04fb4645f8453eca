import { html } from 'lit';
import { ask } from '../../../../browser/elements/confirm-dialog.ts';
import type { LightElement } from '../../../../browser/elements/light-element.ts';
import { tell } from '../../../../browser/elements/notice.ts';
import { button, listTable } from '../../../../browser/elements/table.ts';
import { relativeOr } from '../../../../browser/format.ts';
import { url } from '../../../../browser/url.ts';
import { api } from '../api.ts';
import { keyLink, planLink } from '../key.ts';
import type { Ban, Changed } from '../responses.ts';
import { session } from '../session.ts';

/**
 * Bans, which an operator can lift.
 * @param host asks before
 * @param lifted called when one was lifted
 */
export const banTable = (
  host: LightElement,
  label: string,
  bans: readonly Ban[],
  lifted: (ban: Ban) => unknown,
) =>
  listTable(label, bans, [
    ['Key', keyLink],
    ['Plan', ({ plan }) => planLink(plan)],
    ['Ends', ({ endsAt }) => relativeOr(endsAt, 'with its next requests')],
    ['Reason', ({ reason }) => reason],
    session.isOperator &&
      button(
        'Lift',
        ({ name }) => `Lift the ban of ${name}`,
        (ban) => askToLift(host, ban, lifted),
      ),
  ]);

function askToLift(host: LightElement, ban: Ban, lifted: (ban: Ban) => unknown) {
  const { id, name, reason } = ban;
  ask(host, {
    heading: `Lift the ban of ${name}?`,
    action: 'Lift the ban',
    message: () =>
      html`<p>
        Banned for: ${reason}. Its requests are served again within a second, and what led to the ban is
        forgotten.
      </p>`,
    run: async () => {
      await tell(
        api.delete<Changed>(url`/api/keys/${id}/ban`),
        `The ban of ${name} was lifted. Its next request is served within a second.`,
      );
      lifted(ban);
    },
  });
}
