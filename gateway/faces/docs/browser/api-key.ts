import { keptText } from './kept-text.ts';

/** The key in the tab's session storage, which ends with the tab and which no other origin can read. */
const kept = keptText(() => sessionStorage, 'api-key');

export const currentKey = kept.get;

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
    if (key !== '') kept.set(key);
    input.value = '';
    show();
  });
  forget.addEventListener('click', () => {
    kept.set('');
    input.value = '';
    show();
    input.focus();
  });
  form.hidden = false;
  show();
}
