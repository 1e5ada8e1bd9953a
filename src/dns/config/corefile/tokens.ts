// The words of a Corefile. Words are separated by white space; a word in double quotes may contain
// white space, and `\"` in it is a quote. A # starts a comment that ends with the line.

export interface Token {
  readonly text: string;
  /** The path of the file. */
  readonly file: string;
  /** The number of the line where the word begins, from 1. */
  readonly line: number;
  /** Whether it is the first word of its line. */
  readonly startsLine: boolean;
}

/** A problem with its place. Its message begins with `FILE:LINE: `. */
export class CorefileError extends Error {
  override readonly name = 'CorefileError';

  constructor({ file, line }: Pick<Token, 'file' | 'line'>, problem: string) {
    super(`${file}:${line}: ${problem}`);
  }
}

const WORD = /[^\S\n]+|\n|#[^\n]*|"((?:\\[\s\S]|[^"\\])*)("?)|[^\s#]+/g;

/**
 * Splits the text of a file. `env`: the variables that `{$NAME}` and `{%NAME%}` stand for; a
 * variable that is not set stands for nothing. Throws CorefileError for a quote without its end.
 */
export function tokensOf(
  text: string,
  file: string,
  env: Readonly<Record<string, string | undefined>>,
): readonly Token[] {
  const tokens: Token[] = [];
  let line = 1;
  let startsLine = true;
  for (const [match, quoted, end] of text.replace(/^\uFEFF/, '').matchAll(WORD)) {
    if (match === '\n') {
      line++;
      startsLine = true;
    } else if (/\S/.test(match) && !match.startsWith('#')) {
      const at = { file, line, startsLine };
      if (quoted !== undefined && end === '') throw new CorefileError(at, 'a quote has no end');
      const word = quoted === undefined ? match : quoted.replaceAll('\\"', '"');
      tokens.push({ ...at, text: expanded(word, env) });
      line += match.split('\n').length - 1;
      startsLine = false;
    }
  }
  return tokens;
}

function expanded(word: string, env: Readonly<Record<string, string | undefined>>): string {
  return word.replaceAll(
    /\{\$([^}]*)\}|\{%([^}]*)%\}/g,
    (_match, unix: string | undefined, windows: string | undefined) => {
      const name = unix ?? windows ?? '';
      return Object.hasOwn(env, name) ? (env[name] ?? '') : '';
    },
  );
}
