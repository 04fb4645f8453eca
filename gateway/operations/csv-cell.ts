/** What a spreadsheet takes for the beginning of a formula, after apostrophes (OWASP, CSV Injection). */
const formula = /^'*[=+\-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}]/u;

/** Formats a text as a CSV cell. An apostrophe before a formula makes spreadsheets show it instead of running it. */
export function formatCsvText(text: string): string {
  const harmless = formula.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
