// Expansion of $(VAR) in env values, commands, arguments and subPathExpr.

/**
 * Expands variables. `$(NAME)` becomes the result of `lookup`, or stays unchanged if that is
 * undefined; `$$` is a literal dollar sign; any other dollar sign stays.
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  let result = '';
  let at = 0;
  for (;;) {
    const dollar = text.indexOf('$', at);
    if (dollar < 0 || dollar + 1 === text.length) return result + text.slice(at);
    result += text.slice(at, dollar);
    const next = text[dollar + 1];
    if (next === '$') {
      result += '$';
      at = dollar + 2;
      continue;
    }
    const close = next === '(' ? text.indexOf(')', dollar + 2) : -1;
    if (close < 0) {
      result += `$${next === '(' ? '(' : next}`;
      at = dollar + 2;
      continue;
    }
    const name = text.slice(dollar + 2, close);
    result += lookup(name) ?? `$(${name})`;
    at = close + 1;
  }
}
