import { html, type Html } from './html.ts';

/** How pages name API keys. */
export interface KeySettings {
  keyPrefix: string;
  /** Environment variable that holds the API key in samples. */
  keyVariable: string;
}

/**
 * Form for the API key. The input has no name and the form no address, so that no browser can send the key as a part of
 * an address; the browser module keeps it in the tab's session storage.
 */
export function keyForm(submitLabel: string, keyPrefix: string): Html {
  return html`<form class="panel key" data-key-form="${keyPrefix}" hidden>
      <label for="api-key">API key</label>
      <div class="copy-field">
        <input
          id="api-key"
          type="password"
          autocomplete="off"
          spellcheck="false"
          autocapitalize="off"
          placeholder="${keyPrefix}…"
          aria-describedby="key-note"
        />
        <button type="submit" class="primary">${submitLabel}</button>
        <button type="button" data-forget-key hidden>Forget key</button>
      </div>
      <p id="key-note" class="hint">
        Stays in this browser tab, and is sent to this server only. Closing the tab forgets it.
      </p>
      <p role="status" class="hint" data-key-state></p>
    </form>
    <noscript
      ><p class="hint">
        Requests can be tried out here with JavaScript only. Everything else on this page works without.
      </p></noscript
    >`;
}
