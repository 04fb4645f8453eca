/** Builds an address. Encodes what is inserted, so that no id or name leads to another path. */
export const url = (texts: TemplateStringsArray, ...parts: readonly (string | number)[]): string =>
  String.raw({ raw: texts }, ...parts.map((part) => encodeURIComponent(part)));
