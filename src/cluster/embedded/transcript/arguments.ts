// Parses a command line of a transcript: words, key=value options, and -l style flags as in
// kubectl.

export interface Arguments {
  readonly name: string;
  readonly words: readonly string[];
  /** Throws if the word is missing. */
  word(index: number): string;
  option(name: string): string | undefined;
  flag(name: string): boolean;
  /**
   * Returns everything after the first argument unchanged, for commands such as label, whose
   * arguments look like options.
   */
  rest(): readonly string[];
  /**
   * Throws if the command did not read an argument: a transcript must not contain ignored
   * arguments.
   */
  finish(): void;
}

const WITH_VALUE: ReadonlySet<string> = new Set(['-n', '-l', '-o']);

export function parseArguments(line: string): Arguments {
  const [name = '', ...rest] = (line.match(/(?:[^\s"]|"[^"]*")+/g) ?? []).map((word) =>
    word.replaceAll('"', ''),
  );
  const words: string[] = [];
  const options = new Map<string, string>();
  for (let at = 0; at < rest.length; at++) {
    const part = rest[at]!;
    const equals = part.indexOf('=');
    if (WITH_VALUE.has(part)) options.set(part, rest[++at] ?? '');
    else if (/^-[a-z]/i.test(part)) options.set(part, '');
    else if (/^[a-z-]+$/i.test(part.slice(0, Math.max(equals, 0))))
      options.set(part.slice(0, equals), part.slice(equals + 1));
    else words.push(part);
  }
  const used = new Set<string>();
  let usedWords = 0;
  let usedAll = false;
  const take = (option: string): string | undefined => {
    used.add(option);
    return options.get(option);
  };
  return {
    name,
    words,
    word(index) {
      const word = words[index];
      if (word === undefined) throw new Error(`${name}: argument ${index + 1} is missing`);
      usedWords = Math.max(usedWords, index + 1);
      return word;
    },
    option: take,
    flag: (option) => take(option) !== undefined,
    rest() {
      usedAll = true;
      return rest.slice(1);
    },
    finish() {
      if (usedAll) return;
      const unused = [
        ...words.slice(usedWords),
        ...[...options.keys()].filter((option) => !used.has(option)),
      ];
      if (unused.length > 0) throw new Error(`${name}: not understood: ${unused.join(' ')}`);
    },
  };
}
