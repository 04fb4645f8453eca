import { html, nothing } from 'lit';
import { ask } from '../../../browser/elements/ask-dialog.ts';
import { PolledElement } from '../../../browser/elements/polled-element.ts';
import { listTable } from '../../../browser/elements/table.ts';
import { formatRelative, plural } from '../../../browser/format.ts';
import { url } from '../../../browser/url.ts';
import { api } from '../api.ts';
import type { Changed, ListedSession, Page } from '../responses.ts';
import { session } from '../session.ts';

const quiet = (text: string) => html`<span class="quiet">${text}</span>`;

/** People who are signed in. An operator ends any session, a viewer only their own. */
class PageSessions extends PolledElement<ListedSession[]> {
  async read() {
    return (await api.get<Page<ListedSession>>('/api/sessions')).items;
  }

  /** @param question what it ends, and what that means */
  askToEnd(path: string, question: { heading: string; action: string; text: string }) {
    ask(this, {
      ...question,
      danger: true,
      message: () => html`<p>${question.text}</p>`,
      run: () =>
        this.saved(api.delete<Changed<{ ended: { name: string }[] }>>(path), ({ ended }) =>
          ended.length === 1
            ? `${ended[0]?.name} is signed out.`
            : `${plural(ended.length, 'session')} ended.`,
        ),
    });
  }

  override render() {
    return html`<h1>Sessions</h1>
      <p class="quiet">
        Who is signed in to the console.
        ${session.isOperator ? nothing : "You have a viewer's link: you can end your own session only."}
      </p>
      ${super.render()}`;
  }

  view(sessions: ListedSession[]) {
    const others = sessions.filter(({ own }) => !own);
    return html`${listTable('Sessions', sessions, [
      ['Person', ({ name, own }) => html`${name} ${own ? quiet('this session') : nothing}`],
      ['Role', ({ role }) => role],
      ['Since', ({ createdAt }) => formatRelative(createdAt), 'minor'],
      ['Granted by', ({ grantedBy }) => grantedBy, 'minor'],
      ['Expires', ({ expiresAt }) => formatRelative(expiresAt), 'labelled'],
      ['Action', (listed) => this.action(listed), 'action'],
    ])}
    ${
      session.isOperator && others.length > 0
        ? html`<div class="actions">
            <button
              type="button"
              @click=${() =>
                this.askToEnd('/api/sessions', {
                  heading: 'End all other sessions?',
                  action: 'End them',
                  text: `${plural(others.length, 'session')}: ${others.map(({ name }) => name).join(', ')}.`,
                })}
            >
              End all others…
            </button>
          </div>`
        : nothing
    }`;
  }

  action({ id, name, own }: ListedSession) {
    if (own) {
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
      aria-label=${`End the session of ${name}`}
      @click=${() =>
        this.askToEnd(url`/api/sessions/${id}`, {
          heading: `End the session of ${name}?`,
          action: 'End the session',
          text: 'The browser is signed out at once. What is typed in it and not saved stays there.',
        })}
    >
      End…
    </button>`;
  }
}

customElements.define('page-sessions', PageSessions);
