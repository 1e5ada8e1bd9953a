// Mail addresses after RFC 5322, as Go's net/mail parses them: an address, or a name and an address
// in angle brackets, with comments. Groups of addresses are rejected.

import { parseIp } from '#machinery/net/ip.ts';

/** Sequences of characters that need no quotes, separated by dots. */
const ATOM = /[^\p{Cc} ()<>[\]:;@\\,".]+(?:\.[^\p{Cc} ()<>[\]:;@\\,".]+)*/uy;
/** Sequences of such characters in a display name, where dots may be anywhere. */
const WORD = /[^\p{Cc} ()<>[\]:;@\\,"]+/uy;
const QUOTED = /"(?:[^\p{Cc}"\\]|\t|\\[^\p{Cc}]|\\\t)*"/uy;
const DOMAIN_LITERAL = /\[([^\p{Cc} [\]\\]*)\]/uy;
const SPACE = /[ \t]*/y;

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
    const local = this.#match(QUOTED) ?? this.#match(ATOM);
    if (local === undefined || local === '""' || !this.#consume('@')) return false;
    this.#match(SPACE);
    const literal = this.#match(DOMAIN_LITERAL);
    return literal === undefined
      ? this.#match(ATOM) !== undefined
      : parseIp(literal.slice(1, -1)) !== undefined;
  }

  /** Skips any number of words. Returns whether an angle bracket follows. */
  #name(): boolean {
    for (;;) {
      if (!this.#comments()) return false;
      if (this.#text[this.#at] === '<') return true;
      if (this.#match(QUOTED) === undefined && this.#match(WORD) === undefined) return false;
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
