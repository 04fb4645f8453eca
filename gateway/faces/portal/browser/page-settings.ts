/** The page itself has it, so that it is known before any request. */
function metaContent(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';
}

export const title = metaContent('application-name');
/** Empty if there is none. */
export const supportUrl = metaContent('support-url');
