import { isApiKey } from './key-format.ts';

/** Name of the key in the tab's session storage, which ends with the tab and which no other origin can read. */
const storageName = 'api-key';

/** Used instead if the browser forbids storage. */
let inMemory = '';

export function currentKey() {
  try {
    return sessionStorage.getItem(storageName) ?? inMemory;
  } catch {
    return inMemory;
  }
}

/** Keeps the key of the tab. @param key empty to forget it */
export function keepKey(key: string) {
  inMemory = key;
  try {
    if (key === '') sessionStorage.removeItem(storageName);
    else sessionStorage.setItem(storageName, key);
  } catch {
    // The key is kept in memory, and asked for again on the next page.
  }
}

/** Shows the form for the key. */
export function connectKeyForm() {
  const form = document.querySelector('[data-key-form]');
  const input = form?.querySelector('input');
  const state = form?.querySelector('[data-key-state]');
  const forget = form?.querySelector('[data-forget-key]');
  if (!(form instanceof HTMLFormElement) || !input || !state || !(forget instanceof HTMLElement)) return;

  const prefix = form.dataset['keyForm'] ?? '';
  const show = () => {
    const key = currentKey();
    forget.hidden = key === '';
    state.textContent =
      key === '' ? '' : `Using the key that begins with ${key.slice(0, prefix.length + 4)}.`;
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const key = input.value.trim();
    if (key === '' && currentKey() === '') {
      state.textContent = 'Enter an API key first.';
      input.focus();
      return;
    }
    if (key !== '' && !(key.startsWith(prefix) && isApiKey(key))) {
      state.textContent = `This is not an API key: ${prefix} with 38 letters and digits after it. Is one of them wrong?`;
      input.focus();
      return;
    }
    if (key !== '') keepKey(key);
    input.value = '';
    show();
  });
  forget.addEventListener('click', () => {
    keepKey('');
    input.value = '';
    show();
    input.focus();
  });
  form.hidden = false;
  show();
}
