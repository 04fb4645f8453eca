import '../elements/api-tokens.ts';
import '../elements/confirm-dialog.ts';
import { html, nothing } from 'lit';
import { api } from '../api.ts';
import { ActingElement } from '../elements/acting-element.ts';
import { showDialog } from '../elements/dialog-element.ts';
import { notify } from '../elements/notice.ts';
import { inlineFailure } from '../elements/page-state.ts';
import { table } from '../elements/table.ts';
import { formatRelative, plural } from '../format.ts';
import { Refresher } from '../refresher.ts';
import type { Changed, ListedSession, Page } from '../responses.ts';
import { session } from '../session.ts';
import { url } from '../url.ts';

type Ended = Changed<{ ended: { name: string }[] }>;

/** People who are signed in. An operator ends any session, a viewer only their own. */
class PageSessions extends ActingElement {
  static override properties = { sessions: { state: true }, chosen: { state: true } };

  sessions: ListedSession[] | undefined;
  /** The session that is to be ended. */
  chosen: ListedSession | undefined;
  refresher = new Refresher(
    this,
    () => this.load(),
    () => 5000,
  );

  async load() {
    this.sessions = (await api.get<Page<ListedSession>>('/api/sessions')).items;
  }

  async askToEnd(chosen: ListedSession) {
    this.chosen = chosen;
    await this.updateComplete;
    showDialog(this, '.end');
  }

  async end(path: string) {
    const { ended, warnings } = await api.delete<Ended>(path);
    const [first] = ended;
    notify(
      first !== undefined && ended.length === 1
        ? `${first.name} is signed out.`
        : `${plural(ended.length, 'session')} ended.`,
      warnings,
    );
    await this.refresher.now();
  }

  override render() {
    const { chosen, sessions } = this;
    const others = sessions?.filter(({ own }) => !own) ?? [];
    return html`<h1>Sessions</h1>
      <p class="quiet">
        Who is signed in to the console.
        ${session.isOperator ? nothing : "You have a viewer's link: you can end your own session only."}
      </p>
      ${inlineFailure(this.failure)}
      ${sessions === undefined ? this.refresher.placeholder() : this.list(sessions)}
      ${
        session.isOperator && others.length > 0
          ? html`<div class="actions">
              <button type="button" @click=${() => showDialog(this, '.others')}>End all others…</button>
            </div>`
          : nothing
      }
      <confirm-dialog
        class="end"
        heading=${`End the session of ${chosen?.name ?? ''}?`}
        action="End the session"
        danger
        .message=${html`<p>The browser is signed out at once. What is typed in it and not saved stays there.</p>`}
        .run=${() => (chosen === undefined ? Promise.resolve() : this.end(url`/api/sessions/${chosen.id}`))}
      ></confirm-dialog>
      <confirm-dialog
        class="others"
        heading="End all other sessions?"
        action="End them"
        danger
        .message=${html`<p>${plural(others.length, 'session')}: ${others.map(({ name }) => name).join(', ')}.</p>`}
        .run=${() => this.end('/api/sessions')}
      ></confirm-dialog>
      <api-tokens></api-tokens>`;
  }

  list(sessions: ListedSession[]) {
    return html`${inlineFailure(this.refresher.failure)}
    ${table({
      label: 'Sessions',
      region: 'wide',
      headings: [
        'Person',
        'Role',
        'Since',
        'Last seen',
        'Granted by',
        'Expires',
        html`<th scope="col"><span class="wa-visually-hidden">Action</span></th>`,
      ],
      rows: sessions.map((listed) => this.row(listed)),
    })}`;
  }

  row(listed: ListedSession) {
    const { name, role, createdAt, lastSeenAt, grantedBy, expiresAt, own } = listed;
    return html`<tr>
      <th scope="row">${name} ${own ? html`<span class="quiet">this session</span>` : nothing}</th>
      <td>${role}</td>
      <td>${formatRelative(createdAt)}</td>
      <td>
        ${lastSeenAt === null ? html`<span class="quiet">not used yet</span>` : formatRelative(lastSeenAt)}
      </td>
      <td>${grantedBy ?? html`<span class="quiet">unknown</span>`}</td>
      <td>${formatRelative(expiresAt)}</td>
      <td>${this.action(listed)}</td>
    </tr>`;
  }

  action(listed: ListedSession) {
    if (listed.own) {
      return html`<button
        type="button"
        ?disabled=${this.busy}
        @click=${() => void this.act(() => session.signOut())}
      >
        Sign out
      </button>`;
    }
    if (!session.isOperator) return nothing;
    return html`<button
      type="button"
      aria-label=${`End the session of ${listed.name}`}
      @click=${() => void this.askToEnd(listed)}
    >
      End…
    </button>`;
  }
}

customElements.define('page-sessions', PageSessions);
