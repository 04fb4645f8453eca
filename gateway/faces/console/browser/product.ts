/** Name of what the console is for, such as in titles of pages. */
export const productName = metaContent('application-name');

/** Prefix of API keys. */
export const keyPrefix = metaContent('key-prefix');

/** Address of a request that any key may make, for samples. */
export const sampleUrl = metaContent('sample-url');

/** The page itself has it, so that it is known before any request. */
function metaContent(name: string): string {
  return document.querySelector(`meta[name="${name}"]`)?.getAttribute('content') ?? '';
}
