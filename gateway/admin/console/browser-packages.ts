import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';

/** A package that the browser loads as it is, without a bundler. */
interface BrowserPackage {
  /** Folder with its package.json. */
  folder: string;
  /** Folder with the files for browsers. */
  files: string;
}

/** @param importer package that depends on it, if this project does not itself */
function browserPackage(name: string, { files = '.', importer = import.meta.url } = {}): BrowserPackage {
  const description = findPackageJSON(name, importer);
  if (description === undefined) throw new Error(`the package ${name} is not installed: run npm ci`);
  return { folder: dirname(description), files: join(dirname(description), files) };
}

const importer = import.meta.resolve('lit');

/** By their names in addresses. */
export const browserPackages = {
  lit: browserPackage('lit'),
  'lit-element': browserPackage('lit-element', { importer }),
  'lit-html': browserPackage('lit-html', { importer }),
  'reactive-element': browserPackage('@lit/reactive-element', { importer }),
  uplot: browserPackage('uplot', { files: 'dist' }),
  webawesome: browserPackage('@awesome.me/webawesome', { files: 'dist-cdn' }),
} as const;

/** Names that modules import, and the files behind them: an import map without its base. */
export const browserImports: Readonly<Record<string, `${keyof typeof browserPackages}/${string}`>> = {
  lit: 'lit/index.js',
  'lit/': 'lit/',
  'lit-element/': 'lit-element/',
  'lit-html': 'lit-html/lit-html.js',
  'lit-html/': 'lit-html/',
  '@lit/reactive-element': 'reactive-element/reactive-element.js',
  '@lit/reactive-element/': 'reactive-element/',
  uplot: 'uplot/uPlot.esm.js',
  'webawesome/': 'webawesome/',
};
