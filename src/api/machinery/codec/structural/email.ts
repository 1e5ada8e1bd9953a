// Mail addresses after RFC 5322, as Go's net/mail parses them: an address, or a name and an address
// in angle brackets, with comments. Groups of addresses are rejected.

import { parseIp } from '#machinery/net/ip.ts';

/** Returns a table, by code below 128: whether the character is one of these or a control character. */
const tableOf = (characters: string): readonly boolean[] =>
  Array.from(
    { length: 128 },
    (_, code) => isControl(code) || characters.includes(String.fromCharCode(code)),
  );
/** Characters that need quotes. */
const SPECIAL = tableOf(' ()<>[]:;@\\,"');
/** Characters that need an escape in the address of a host. */
const LITERAL_SPECIAL = tableOf(' [\\]');
const SPACE = /[ \t]*/y;

const [TAB, QUOTE, BACKSLASH] = [0x09, 0x22, 0x5c];

/** Reports whether the code is that of a control character (Unicode's Cc). */
function isControl(code: number): boolean {
  return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

/** Returns the index of the first character, from `at` on, in the table; the length if there is none. */
function endOfRun(text: string, at: number, table: readonly boolean[]): number {
  let end = at;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code < 128 ? table[code] === true : isControl(code)) break;
  }
  return end;
}

class AddressReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isAddress(): boolean {
    this.#match(SPACE);
    const start = this.#at;
    if (!this.#address()) {
      this.#at = start;
      if (!this.#name() || !this.#consume('<') || !this.#address() || !this.#consume('>'))
        return false;
    }
    return this.#comments() && this.#at === this.#text.length;
  }

  #address(): boolean {
    this.#match(SPACE);
    const start = this.#at;
    if (!this.#quoted() && !this.#atom()) return false;
    if (this.#text.slice(start, start + 2) === '""' && this.#at === start + 2) return false;
    if (!this.#consume('@')) return false;
    this.#match(SPACE);
    const literal = this.#domainLiteral();
    return literal === undefined ? this.#atom() : parseIp(literal) !== undefined;
  }

  /** Skips any number of words. Returns whether an angle bracket follows. */
  #name(): boolean {
    for (;;) {
      if (!this.#comments()) return false;
      if (this.#text[this.#at] === '<') return true;
      if (!this.#quoted() && !this.#word()) return false;
    }
  }

  /** Skips space and comments. Returns false for a comment without an end. */
  #comments(): boolean {
    this.#match(SPACE);
    while (this.#text[this.#at] === '(') {
      let depth = 0;
      do {
        const character = this.#text[this.#at++];
        if (character === undefined) return false;
        if (character === '\\') this.#at++;
        else if (character === '(') depth++;
        else if (character === ')') depth--;
      } while (depth > 0);
      this.#match(SPACE);
    }
    return true;
  }

  /**
   * Skips a text in quotes. Scans character by character, as do the others: the texts may have
   * megabytes, which regular expressions for them take ten times as long to read.
   */
  #quoted(): boolean {
    const text = this.#text;
    if (text.charCodeAt(this.#at) !== QUOTE) return false;
    for (let at = this.#at + 1; at < text.length; at++) {
      let code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      // A backslash at the end: NaN, which ends the loop.
      if (code === BACKSLASH) code = text.charCodeAt(++at);
      if (isControl(code) && code !== TAB) return false;
    }
    return false;
  }

  /** Skips characters that need no quotes, with single dots between them. */
  #atom(): boolean {
    const start = this.#at;
    if (!this.#word()) return false;
    const word = this.#text.slice(start, this.#at);
    if (word.startsWith('.')) {
      this.#at = start;
      return false;
    }
    // An atom ends before a dot at its end, and before two dots.
    const dots = word.indexOf('..');
    if (dots >= 0) this.#at = start + dots;
    else if (word.endsWith('.')) this.#at--;
    return true;
  }

  /** Skips characters that need no quotes, and dots anywhere. */
  #word(): boolean {
    const end = endOfRun(this.#text, this.#at, SPECIAL);
    const isFound = end > this.#at;
    this.#at = end;
    return isFound;
  }

  /** Skips an address in brackets. Returns what is between them. */
  #domainLiteral(): string | undefined {
    const text = this.#text;
    if (text[this.#at] !== '[') return undefined;
    const end = endOfRun(text, this.#at + 1, LITERAL_SPECIAL);
    if (text[end] !== ']') return undefined;
    const literal = text.slice(this.#at + 1, end);
    this.#at = end + 1;
    return literal;
  }

  #consume(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#text)?.[0];
    this.#at += match?.length ?? 0;
    return match;
  }
}

/** Reports whether the text is one mail address. */
export function isEmail(text: string): boolean {
  return new AddressReader(text).isAddress();
}
