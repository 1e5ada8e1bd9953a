// Expansion of $(VAR) in env values, commands, arguments and subPathExpr.

/**
 * Characters of an expanded text. Linux starts no program with a longer argument or variable
 * (MAX_ARG_STRLEN). Each variable may double the one before it, so there has to be a limit.
 */
const MAX_EXPANDED = 128 * 1024;
/** Characters of all expanded texts of a container: Linux takes no more in any configuration. */
const MAX_TOTAL = 6 * 1024 * 1024;
const TOO_LONG = 'argument list too long';

export type Lookup = (name: string) => string | undefined;

/**
 * Expands variables. `$(NAME)` becomes the result of `lookup`, or stays unchanged if that is
 * undefined; `$$` is a literal dollar sign; any other dollar sign stays. Throws if the result is too
 * long for a program.
 */
export function expand(text: string, lookup: Lookup): string {
  let result = '';
  let at = 0;
  // Found once: a search from each opening parenthesis would take quadratic time.
  const lastClose = text.lastIndexOf(')');
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
    const close = next === '(' && dollar < lastClose ? text.indexOf(')', dollar + 2) : -1;
    if (close < 0) {
      result += `$${next === '(' ? '(' : next}`;
      at = dollar + 2;
      continue;
    }
    const name = text.slice(dollar + 2, close);
    result += lookup(name) ?? `$(${name})`;
    if (result.length > MAX_EXPANDED) throw new Error(`$(${name}): ${TOO_LONG}`);
    at = close + 1;
  }
}

/** Returns `expand` for the texts of one container, which are limited together. */
export function limitedExpand(): typeof expand {
  let total = 0;
  return (text, lookup) => {
    const expanded = expand(text, lookup);
    if (expanded !== text) total += expanded.length;
    if (total > MAX_TOTAL) throw new Error(TOO_LONG);
    return expanded;
  };
}
