import { element } from './elements.ts';

/** Name of the chosen language in local storage. */
const storageName = 'sample-language';

/**
 * Turns the samples of each operation into tabs (WAI-ARIA authoring practices: tabs). A choice holds for all of them.
 */
export function connectSampleTabs() {
  const groups = Array.from(document.querySelectorAll('[data-tabs]'), createTabs);
  const choose = (language: string) => {
    for (const group of groups) group.select(language);
    remember(language);
  };
  for (const group of groups) group.onChoice(choose);
  choose(remembered() ?? 'curl');
}

function createTabs(container: Element, group = 0) {
  const panels = [...container.querySelectorAll('[data-panel]')].filter(
    (panel) => panel instanceof HTMLElement,
  );
  const tabs = panels.map((panel, index) => {
    const tab = element(
      'button',
      { type: 'button', role: 'tab', id: `tab-${group}-${index}` },
      languageOf(panel),
    );
    panel.id = `panel-${group}-${index}`;
    tab.setAttribute('aria-controls', panel.id);
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    panel.querySelector('h4')?.remove();
    return tab;
  });
  const label = container.getAttribute('data-tabs') ?? '';
  container.prepend(
    element('div', { role: 'tablist', 'aria-label': `Language of the sample: ${label}` }, ...tabs),
  );

  return {
    select(language: string) {
      const chosen = Math.max(0, panels.map(languageOf).indexOf(language));
      for (const [index, tab] of tabs.entries()) {
        tab.setAttribute('aria-selected', String(index === chosen));
        tab.tabIndex = index === chosen ? 0 : -1;
        const panel = panels[index];
        if (panel !== undefined) panel.hidden = index !== chosen;
      }
    },
    onChoice(choose: (language: string) => void) {
      for (const [index, tab] of tabs.entries()) {
        const chooseAt = (position: number) => {
          const place = (position + tabs.length) % tabs.length;
          choose(tabs[place]?.textContent ?? '');
          tabs[place]?.focus();
        };
        tab.addEventListener('click', () => chooseAt(index));
        tab.addEventListener('keydown', ({ key }) => {
          if (key === 'ArrowRight') chooseAt(index + 1);
          if (key === 'ArrowLeft') chooseAt(index - 1);
          if (key === 'Home') chooseAt(0);
          if (key === 'End') chooseAt(tabs.length - 1);
        });
      }
    },
  };
}

function languageOf(panel: HTMLElement) {
  return panel.dataset['panel'] ?? '';
}

function remember(language: string) {
  try {
    localStorage.setItem(storageName, language);
  } catch {
    // The choice holds for this page.
  }
}

function remembered() {
  try {
    return localStorage.getItem(storageName);
  } catch {
    return null;
  }
}
