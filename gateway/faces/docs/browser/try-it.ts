import { currentKey } from './api-key.ts';
import { apiRequest, describeResponse } from './api-request.ts';

/** Shows the forms that send requests. */
export function connectTryIt() {
  for (const section of document.querySelectorAll('[data-try-section]')) {
    if (section instanceof HTMLElement) section.hidden = false;
    const form = section.querySelector('form');
    const status = section.querySelector('[data-status]');
    const result = section.querySelector('[data-result]');
    if (form === null || status === null || result === null) continue;
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      if (currentKey() === '') {
        document.getElementById('api-key')?.focus();
        status.textContent = 'Enter an API key first, at the top of the page.';
        return;
      }
      status.textContent = 'Sending…';
      result.replaceChildren();
      void apiRequest(...requestOf(form)).then((response) => show(response, status, result));
    });
  }
}

function requestOf(
  form: HTMLFormElement,
): [string, { method: string; headers: Record<string, string>; body?: string }] {
  const { method = 'GET', path: pattern = '' } = form.dataset;
  let path = pattern;
  const query = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const field of form.querySelectorAll('[data-in]')) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) continue;
    const { in: place, name = '' } = field.dataset;
    const value = field.value.trim();
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value));
    else if (value !== '' && place === 'query') query.set(name, value);
    else if (value !== '' && place === 'header') headers[name] = value;
  }
  const address = query.size === 0 ? path : `${path}?${query}`;
  const body = form.querySelector('textarea')?.value;
  if (body === undefined) return [address, { method, headers }];
  return [address, { method, headers: { ...headers, 'Content-Type': 'application/json' }, body }];
}

async function show(response: Response | string, status: Element, result: Element) {
  if (typeof response === 'string') {
    status.textContent = response;
    return;
  }
  const described = await describeResponse(response);
  status.replaceChildren(...described.status);
  result.append(...described.details);
}
