import { currentTitle, windowNames } from '../limits/windows.ts';
import { html } from './html.ts';
import { keyForm, type KeySettings } from './key-form.ts';
import type { Page } from './layout.ts';

/** Page on which the holder of a key sees what it has used. A browser module asks for it with the key. */
export function usagePage(basePath: string, { keyPrefix }: KeySettings): Page {
  const titles = windowNames.map((name) => [name, currentTitle(name)]);
  const body = html`<h1>Your usage</h1>
    <p>What a key has used of its plan. Asking costs no quota, and works even after a 429.</p>
    ${keyForm('Show usage', keyPrefix)}
    <div data-usage="${basePath}/usage" data-windows="${JSON.stringify(titles)}" role="status"></div>
    <h2 id="programs"><a class="anchor" href="#programs">For programs</a></h2>
    <p>
      <code>GET ${basePath}/usage</code> returns the same as JSON: see the
      <a href="/docs/reference#getUsage">reference</a>.
    </p>`;
  const markdown = `# Your usage

What a key has used of its plan: \`GET ${basePath}/usage\` returns it as JSON. Asking costs no quota, and works even after a 429.
See the [reference](/docs/reference#getUsage).
`;
  return { path: '/docs/usage', title: 'Your usage', contents: [], body, markdown, scripts: ['usage.ts'] };
}
