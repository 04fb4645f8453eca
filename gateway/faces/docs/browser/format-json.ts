/** Indents JSON text without parsing it: JSON.parse would round integers of 64 bits. */
export function formatJson(text: string): string {
  let depth = 0;
  const line = () => `\n${'  '.repeat(Math.max(0, depth))}`;
  return text.replaceAll(/"(?:[^"\\]|\\.)*"|[[{]\s*[\]}]|[[\]{},:]|\s+/g, (token: string) => {
    if (token === '{' || token === '[') {
      depth += 1;
      return token + line();
    }
    if (token === '}' || token === ']') {
      depth -= 1;
      return line() + token;
    }
    if (token === ',') return token + line();
    if (token === ':') return ': ';
    if (/^[[{]/.test(token)) return token.replaceAll(/\s/g, '');
    return /^\s/.test(token) ? '' : token;
  });
}
