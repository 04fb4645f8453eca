import { element } from './elements.ts';

/** Origin in the samples of the served pages. */
const placeholder = 'http://localhost:8080';

/** Screen readers announce what changes in it: the label of a button is replaced by its aria-label. */
const announcement = element('p', { role: 'status', class: 'announcement' });

/** Puts the page's own origin into all samples, and a button to copy beside each. */
export function prepareSamples() {
  document.body.append(announcement);
  for (const code of document.querySelectorAll('pre > code')) {
    code.textContent = (code.textContent ?? '').replaceAll(placeholder, location.origin);
    // Browsers have a clipboard on secure origins only.
    if (navigator.clipboard !== undefined) code.parentElement?.before(copyButton(code));
  }
}

function copyButton(code: Element) {
  const button = element('button', { type: 'button', class: 'copy', 'aria-label': 'Copy this code' }, 'Copy');
  const say = (label: string) => {
    button.textContent = label;
    announcement.textContent = label;
    setTimeout(() => (button.textContent = 'Copy'), 2000);
  };
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(code.textContent ?? '').then(
      () => say('Copied'),
      () => say('Not allowed'),
    );
  });
  return button;
}
